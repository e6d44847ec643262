/** The seed of this run, printed once; `DROVER_SEED=…` replays it. */
let chosen: number | undefined

export function seed(): number {
  if (chosen === undefined) {
    const given = process.env['DROVER_SEED']
    chosen = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
    console.log(`DROVER_SEED=${chosen}`)
  }
  return chosen
}
