// A reporter of node:test: one line for each test, with the suites it is in.
const suites = []

export default async function* outcomes(events) {
  for await (const { type, data } of events) {
    if (type === 'test:start') suites[data.nesting] = data.name
    const isOutcome = type === 'test:pass' || type === 'test:fail'
    if (!isOutcome || data.details.type === 'suite') continue
    const isLeftOut = data.skip !== undefined || data.todo !== undefined
    const outcome = isLeftOut ? 'skipped' : type === 'test:pass' ? 'passed ' : 'FAILED '
    yield `  ${outcome}  ${[...suites.slice(0, data.nesting), data.name].join(': ')}\n`
  }
}
