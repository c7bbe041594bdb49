import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tree } from '../exchange/tree.ts'
import { digestComplaints, rememberedDigests, sayHowLearning } from '../src/digests.ts'
import type { ServerCommand } from '../src/commands.ts'
import { Ensemble, testCfg, type EnsembleServer } from '../src/ensemble.ts'
import { loopback } from '../src/servers.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'
import { until } from '../src/until.ts'

export type Kind = 'zabra' | 'apache'
export type Mode = 'leader' | 'follower' | 'observer'
export type Sync = 'DIFF' | 'TRUNC' | 'SNAP'

/**
 * Sessions outlive everything that is done to their servers. A learner that is far behind gets a
 * snapshot, even if the leader's log on disk would suffice.
 */
const commonCfg = `
${testCfg}
minSessionTimeout=500
maxSessionTimeout=600000
snapshotSizeFactor=-1
extendedTypesEnabled=true
autopurge.purgeInterval=0
${superUserCfg}
`

/** Nothing changes by itself, and Apache logs how it synchronizes servers and is synchronized. */
export const properties = [
  'znode.container.checkIntervalMs=3600000',
  'org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum.LearnerHandler=debug',
  sayHowLearning,
]

/** For everything that servers reach by themselves. */
export const patienceMs = 40_000

/** The log lines of a leader and of a learner about a synchronization, for each kind of server. */
const sayings: Record<Kind, Record<'leader' | 'learner', Record<Sync, RegExp>>> = {
  zabra: {
    leader: {
      DIFF: /synchronizing learner server=3 plan=diff$/gm,
      TRUNC: /synchronizing learner server=3 plan=trunc$/gm,
      SNAP: /synchronizing learner server=3 plan=snap$/gm,
    },
    learner: {
      DIFF: /synchronizing with leader leader=2 plan=diff$/gm,
      TRUNC: /synchronizing with leader leader=2 plan=trunc$/gm,
      SNAP: /synchronizing with leader leader=2 plan=snap$/gm,
    },
  },
  apache: {
    leader: {
      DIFF: /Sending DIFF zxid=\S+ +for peer sid: 3/g,
      TRUNC: /Sending TRUNC .*for peer sid: ?3/g,
      SNAP: /Sending snapshot last zxid of peer/g,
    },
    learner: {
      DIFF: /Getting a diff from the leader/g,
      TRUNC: /Truncating log to get in sync with the leader/g,
      SNAP: /Getting a snapshot from leader/g,
    },
  },
}

/** Three servers of both kinds. The second leads, and the third is its learner. */
export class MixedEnsemble {
  readonly members: readonly Member[]
  private readonly ensemble: Ensemble

  /** `voters` counts from the first: with two voters the third is an observer. */
  static async open(commands: readonly ServerCommand[], voters: number): Promise<MixedEnsemble> {
    const observers = observersBeyond(voters)
    return new MixedEnsemble(
      await Ensemble.open(commands, { cfg: commonCfg, properties, observers }),
    )
  }

  private constructor(ensemble: Ensemble) {
    this.ensemble = ensemble
    this.members = membersOf(ensemble)
  }

  member(id: number): Member {
    return this.members[id - 1]!
  }

  /** The first server of a kind. */
  of(kind: Kind): Member {
    return this.members.find((member) => member.kind === kind)!
  }

  /**
   * Starts these servers together, and the others once these serve: so the first ones decide who
   * leads.
   */
  start(first: readonly number[], later: readonly number[]): Promise<void> {
    return this.ensemble.start(first, later)
  }

  /** Applies to the next start; all servers must be down. */
  setVoters(voters: number): void {
    this.ensemble.configure({ observers: observersBeyond(voters) })
  }

  /** Waits until every server has applied the same transactions. */
  untilLevel(): Promise<void> {
    return this.ensemble.untilLevel()
  }

  dispose(): Promise<void> {
    return this.ensemble.dispose()
  }
}

function observersBeyond(voters: number): number[] {
  return [1, 2, 3].filter((id) => id > voters)
}

export function membersOf({ servers }: Pick<Ensemble, 'servers'>): Member[] {
  return servers.map((server) => new Member(server))
}

/** One server of the ensemble. */
export class Member {
  readonly id: number
  readonly kind: Kind
  readonly server: EnsembleServer

  constructor(server: EnsembleServer) {
    this.id = server.id
    this.kind = server.name === 'zabra' ? 'zabra' : 'apache'
    this.server = server
  }

  get port(): number {
    return this.server.port
  }

  get name(): string {
    return `${this.server.name} (server ${this.id})`
  }

  /** The length of its log so far. */
  get logLength(): number {
    return this.server.log.length
  }

  /** How often it logged, after a position in its log, a synchronization of this kind. */
  countSyncs(as: 'leader' | 'learner', sync: Sync, since: number): number {
    return [...this.server.log.slice(since).matchAll(sayings[this.kind][as][sync])].length
  }

  mode(): Promise<string | undefined> {
    return this.server.mode()
  }

  tree(): Promise<Tree> {
    return wholeTree(this.port)
  }

  digests(): Promise<ReadonlyMap<string, string>> {
    return rememberedDigests(loopback, this.port)
  }

  /** Log lines in which it reports that its tree differs from its leader's. */
  digestComplaints(): string[] {
    return digestComplaints(this.server.log)
  }

  /** Waits until a transaction with this text is in its log file. */
  async untilLogged(text: string): Promise<void> {
    const dir = join(this.server.dir, 'data', 'version-2')
    await until(`${this.name} has not logged ${text}`, patienceMs, () => {
      if (!existsSync(dir)) return false
      const logs = readdirSync(dir).filter((name) => name.startsWith('log.'))
      return logs.some((name) => readFileSync(join(dir, name)).includes(text))
    })
  }

  /** Deletes its data, as if its disk had been replaced; it must be down. */
  loseData(): void {
    this.server.loseData()
  }
}
