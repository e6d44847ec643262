/** The import rule of docs/architecture.md, as a test. */
const rooms = '^(mailbox|actors|herdr|pi|bench|test|demo)/'
const host = '@mariozechner/|@earendil-works/|^node_modules/typebox'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'mailbox-is-a-leaf',
      severity: 'error',
      from: { path: '^mailbox/' },
      to: { path: '^(actors|herdr|pi|bench|test|demo)/' },
    },
    {
      name: 'actors-know-no-host',
      severity: 'error',
      from: { path: '^actors/' },
      to: { path: '^(herdr|pi|bench|test|demo)/' },
    },
    {
      name: 'herdr-knows-actors-and-mailbox',
      severity: 'error',
      from: { path: '^herdr/' },
      to: { path: '^(pi|bench|test|demo)/' },
    },
    {
      name: 'only-pi-knows-the-host',
      severity: 'error',
      from: { path: '^(mailbox|actors|herdr)/|^pi/(cli|definitions)' },
      to: { path: host },
    },
    {
      name: 'only-compose-names-a-runner',
      comment: 'The extension and the command each have one place where concrete parts are chosen.',
      severity: 'error',
      from: { path: '^pi/', pathNot: '^pi/(cli/)?compose\\.ts$|^pi/runners/|\\.test\\.ts$' },
      to: { path: '^pi/runners/|^herdr/' },
    },
    {
      name: 'front-door-only',
      comment: 'Another folder is entered by its index alone.',
      severity: 'error',
      from: { path: rooms, pathNot: '^(bench|test)/' },
      to: { path: '^(mailbox|actors|herdr)/', pathNot: ['^$1/', '/index\\.ts$', '/testing/'] },
    },
    {
      name: 'bench-is-a-root',
      severity: 'error',
      from: { path: rooms, pathNot: '^bench/' },
      to: { path: '^bench/' },
    },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      from: { path: rooms, pathNot: '^test/' },
      to: { path: '^test/|\\.test\\.ts$' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'declared-packages-only',
      severity: 'error',
      from: { path: '^(mailbox|actors|herdr|pi)/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: host },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node'],
    },
  },
}
