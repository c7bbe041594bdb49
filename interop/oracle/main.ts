/**
 * The differential oracle: plays the same random programs of raw requests on Apache ZooKeeper and
 * on zabra, and compares every reply. README.md in this folder explains its output.
 *
 * Continue with `run.ts` (the loop), `program/` (what is played), `play/` (how), `expected.ts`
 * (deliberate differences).
 */
import { readFileSync } from 'node:fs'
import { findApache, type ApacheRelease } from '../src/apache.ts'
import { anyCommand, apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { parseOptions, usage, type Options } from './options.ts'
import { fixedPrograms } from './program/fixed.ts'
import { generate } from './program/generate.ts'
import type { Program } from './program/program.ts'
import { Run } from './run.ts'
import { FixedSide, ManagedSide, type Side } from './side.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let options: Options | 'help'
  try {
    options = parseOptions(args)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return 2
  }
  if (options === 'help') {
    console.log(usage)
    return 0
  }
  const reference = await referenceSide(options)
  const candidate = await candidateSide(options)
  if (typeof reference === 'string' || typeof candidate === 'string') {
    for (const side of [reference, candidate]) {
      if (typeof side === 'string') console.log(`NOTHING WAS COMPARED: ${side}`)
    }
    console.log('0 passed, 1 failed')
    return 1
  }
  return playAll(reference, candidate, options)
}

async function playAll(reference: Side, candidate: Side, options: Options): Promise<number> {
  const run = new Run(reference, candidate, options)
  try {
    await run.startFresh()
    for (const program of programs(options)) {
      await run.play(program)
      if (run.enough) break
    }
  } catch (error) {
    run.stopped(error instanceof Error ? error.message : String(error))
  } finally {
    await Promise.all([reference.dispose(), candidate.dispose()])
  }
  console.log(run.summary())
  return run.failed > 0 || run.passed === 0 ? 1 : 0
}

function* programs(options: Options): Generator<Program> {
  if (options.replay !== undefined) {
    yield JSON.parse(readFileSync(options.replay, 'utf8')) as Program
    return
  }
  if (options.fixed) {
    yield* fixedPrograms
    return
  }
  const ensemble = options.ensemble > 1
  const check = !ensemble && !options.restart
  for (let seed = options.seeds.from; seed <= options.seeds.to; seed++) {
    yield generate(seed, { ...options, ensemble, check })
  }
}

/** The side, or a sentence that says why it is not available. */
async function referenceSide(options: Options): Promise<Side | string> {
  if (options.refAddresses !== undefined) return new FixedSide(options.refAddresses)
  return managed(await apache(options.refRelease), options)
}

async function candidateSide(options: Options): Promise<Side | string> {
  if (options.candAddresses !== undefined) return new FixedSide(options.candAddresses)
  return managed(await candidateCommand(options.candidate), options)
}

async function candidateCommand(candidate: string): Promise<ServerCommand | string> {
  switch (candidate) {
    case 'zabra':
      return zabraCommand()
    case 'apache-3.8':
      return apache('3.8')
    case 'apache-3.9':
      return apache('3.9')
    default:
      return anyCommand('candidate', candidate.trim().split(/\s+/))
  }
}

async function apache(release: ApacheRelease): Promise<ServerCommand | string> {
  const found = await findApache(release)
  return found.ok ? apacheCommand(found) : found.reason
}

function managed(command: ServerCommand | string, options: Options): Side | string {
  if (typeof command === 'string') return command
  return new ManagedSide(command, { members: options.ensemble, cfg: options.cfg })
}
