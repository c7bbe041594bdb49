import { setTimeout as delay } from 'node:timers/promises'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { differences, readTree, type Tree } from '../exchange/tree.ts'
import type { Apache } from '../src/apache.ts'
import { digestComplaints, sayHowLearning } from '../src/digests.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { Ensemble, type EnsembleServer } from '../src/ensemble.ts'
import { Load, type Counts } from './load.ts'

export interface Outcome {
  readonly problems: readonly string[]
  readonly counts: Counts | undefined
  readonly nodesCompared: number
}

/**
 * Settings as in production, with frequent snapshots, so that each kind of server takes several.
 */
const commonCfg = `
tickTime=2000
initLimit=10
syncLimit=5
snapCount=2000
maxClientCnxns=0
4lw.commands.whitelist=*
`
const properties = [sayHowLearning]
const clientsOfEachKind = 4
/** How much must succeed after a server was replaced before the next one is replaced. */
const workBetween = { writes: 400, watches: 60 }
const patienceMs = 60_000

/**
 * Three Apache servers under load. One after another is stopped and replaced by zabra on its
 * directory and zoo.cfg, the leader last; then back in the same way.
 */
export async function takeOver(
  apache: Apache,
  options: {
    readonly report: (row: readonly string[]) => void
    /** Keeps the directories if something went wrong. */
    readonly keepFailures: boolean
  },
): Promise<Outcome> {
  const run = new Takeover(apache, options.report)
  try {
    await run.play()
  } catch (error) {
    run.problems.push(error instanceof Error ? error.message : String(error))
    for (const server of run.servers) run.problems.push(server.logTail(15))
  }
  await run.load?.end()
  run.problems.push(...(run.load?.problems ?? []))
  await Promise.all(run.servers.map((server) => server.stop('SIGKILL')))
  if (options.keepFailures && run.problems.length > 0) {
    run.problems.push(...run.servers.map(({ dir }) => `files are in ${dir}`))
  } else {
    await Promise.all(run.servers.map((server) => server.dispose()))
  }
  return run
}

class Takeover implements Outcome {
  readonly problems: string[] = []
  counts: Counts | undefined
  nodesCompared = 0
  load: Load | undefined
  private ensemble: Ensemble | undefined
  private readonly apache: Apache
  private readonly report: (row: readonly string[]) => void

  constructor(apache: Apache, report: (row: readonly string[]) => void) {
    this.apache = apache
    this.report = report
  }

  async play(): Promise<void> {
    const apache = apacheCommand(this.apache)
    this.ensemble = await Ensemble.open([apache, apache, apache], { cfg: commonCfg, properties })
    await this.ensemble.start()
    this.load = await Load.start(this.apache, this.ensemble.connectString, clientsOfEachKind)
    await this.untilWorked('all servers started', apache.name)
    for (const command of [zabraCommand(), apache]) {
      for (const server of await this.ensemble.leaderLast()) await this.replace(server, command)
    }
    this.counts = await this.load.stop()
    await this.compare()
  }

  get servers(): readonly EnsembleServer[] {
    return this.ensemble?.servers ?? []
  }

  private async replace(server: EnsembleServer, command: ServerCommand): Promise<void> {
    const mode = await server.mode()
    const from = server.name
    const startedMs = performance.now()
    await server.stop('SIGTERM')
    server.become({ command })
    await server.start()
    const awayMs = Math.round(performance.now() - startedMs)
    const step = `server ${server.id}, ${mode}: ${from} > ${command.name}, ${awayMs} ms away`
    await this.untilWorked(step, await this.leaderName())
  }

  /** Waits until both writers and watchers have made progress. */
  private async untilWorked(step: string, leader: string): Promise<void> {
    const load = this.load!
    const before = await load.count()
    const deadline = Date.now() + patienceMs
    for (;;) {
      const { writes, watches, sessions, reconnects } = await load.count()
      const isEnough =
        writes - before.writes >= workBetween.writes &&
        watches - before.watches >= workBetween.watches
      if (isEnough || load.problems.length > 0) {
        this.report([step, leader, ...[writes, watches, sessions, reconnects].map(String)])
        break
      }
      if (Date.now() > deadline) throw new Error(`clients do not get on after ${step}`)
      await delay(100)
    }
    if (load.problems.length > 0) throw new Error(`clients complain after ${step}`)
  }

  private async leaderName(): Promise<string> {
    return (await this.ensemble?.withMode('leader'))?.name ?? 'nobody'
  }

  /** Everything is on every server. */
  private async compare(): Promise<void> {
    const [expected, ...others] = await Promise.all(this.servers.map(treeOf))
    for (const [i, tree] of others.entries()) {
      this.nodesCompared += tree.size
      for (const text of differences(expected!, tree).slice(0, 5)) {
        this.problems.push(`server ${i + 2}: ${text}`)
      }
    }
    for (const server of this.servers) {
      this.problems.push(...digestComplaints(server.log).slice(0, 5))
    }
  }
}

async function treeOf({ port }: EnsembleServer): Promise<Tree> {
  const client = await RawClient.connect(port)
  await client.must('sync', { path: '/' })
  const tree = new Map(await readTree(client))
  // Each server stores its configuration by itself, with its own time.
  tree.delete('/zookeeper/config')
  await client.close()
  return tree
}
