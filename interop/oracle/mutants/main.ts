/**
 * Tests the oracle itself: Apache behind a transparent proxy must agree with Apache, and each
 * server with one fault must be caught within a bounded number of programs.
 *
 *     tsx --conditions=@zabra/source interop/oracle/mutants/main.ts [NAME ...]
 */
import { findApache } from '../../src/apache.ts'
import { apacheCommand, type ServerCommand } from '../../src/commands.ts'
import { parseOptions } from '../options.ts'
import { generate } from '../program/generate.ts'
import { Run } from '../run.ts'
import { ManagedSide } from '../side.ts'
import { faults, type Fault } from './faults.ts'
import { MutantSide } from './mutant-side.ts'

const seedsMax = 40

process.exitCode = await main(process.argv.slice(2))

async function main(wanted: readonly string[]): Promise<number> {
  const apache = await findApache('3.9')
  if (!apache.ok) {
    console.log(`NOTHING WAS CHECKED: ${apache.reason}\n0 passed, 1 failed`)
    return 1
  }
  const command = apacheCommand(apache)
  let passed = 0
  let failed = 0
  for (const [name, fault] of Object.entries({ honest: {}, ...faults })) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const divergence = await firstDivergence(command, name, fault)
    const isCaught = divergence !== undefined
    if (isCaught === (name !== 'honest')) passed++
    else failed++
    console.log(`${name}: ${divergence ?? (name === 'honest' ? 'agrees' : 'NOT CAUGHT')}`)
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}

/** The first program that fails, and its description. */
async function firstDivergence(
  command: ServerCommand,
  name: string,
  fault: Fault,
): Promise<string | undefined> {
  const options = parseOptions(['--no-shrink', '--no-restart'])
  if (options === 'help') return undefined
  const sideOptions = { members: 1, cfg: [] }
  const reference = new ManagedSide(command, sideOptions)
  const candidate = new MutantSide(name, new ManagedSide(command, sideOptions), fault)
  const told: string[] = []
  const run = new Run(reference, candidate, options, (line) => told.push(line))
  try {
    await run.startFresh()
    for (let seed = 1; seed <= seedsMax && run.failed === 0; seed++) {
      await run.play(generate(seed, { ...options, ensemble: false, check: true }))
    }
  } finally {
    await Promise.all([reference.dispose(), candidate.dispose()])
  }
  if (run.failed === 0) return undefined
  return told.map((line) => line.trim().split('\n')[0]?.slice(0, 150)).find((line) => line !== '')
}
