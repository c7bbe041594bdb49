import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { Tree } from '../exchange/tree.ts'
import { digestComplaints, rememberedDigests, sayHowLearning } from '../src/digests.ts'
import { askFourLetters, loopback, ManagedServer, type ServerCommand } from '../src/servers.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'

export type Kind = 'zabra' | 'apache'
export type Mode = 'leader' | 'follower' | 'observer'
export type Sync = 'DIFF' | 'TRUNC' | 'SNAP'

/**
 * Sessions outlive everything done to their servers. A learner that is far behind gets a snapshot,
 * also where the leader's log on disk would reach back to it.
 */
const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
minSessionTimeout=500
maxSessionTimeout=600000
maxClientCnxns=0
preAllocSize=256
snapshotSizeFactor=-1
extendedTypesEnabled=true
autopurge.purgeInterval=0
4lw.commands.whitelist=*
${superUserCfg}
`

/** Nothing changes by itself, and Apache says how it brings servers up, and is brought up. */
const properties = [
  'znode.container.checkIntervalMs=3600000',
  'org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum.LearnerHandler=debug',
  sayHowLearning,
]

const patienceMs = 40_000

/** What a leader and a learner say of a synchronisation, each kind of server in its own words. */
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
  private readonly ports: readonly number[]

  /** `voters` are counted from the first: with two of them the third is an observer. */
  static async open(commands: readonly ServerCommand[], voters: number): Promise<MixedEnsemble> {
    const ports = await freePorts(2 * commands.length)
    return new MixedEnsemble(commands, ports, voters)
  }

  private constructor(
    commands: readonly ServerCommand[],
    ports: readonly number[],
    voters: number,
  ) {
    this.ports = ports
    const cfg = this.cfg(voters)
    this.members = commands.map((command, i) => new Member(i + 1, command, cfg))
  }

  private cfg(voters: number): string {
    const lines: string[] = []
    for (let i = 0; 2 * i < this.ports.length; i++) {
      const role = i < voters ? 'participant' : 'observer'
      const [quorum, election] = this.ports.slice(2 * i)
      lines.push(`server.${i + 1}=${loopback}:${quorum}:${election}:${role}`)
    }
    return `${commonCfg}${lines.join('\n')}`
  }

  member(id: number): Member {
    return this.members[id - 1]!
  }

  /** The first server of a kind. */
  of(kind: Kind): Member {
    return this.members.find((member) => member.kind === kind)!
  }

  /** These together, and the others once these serve: so the first have the say. */
  async start(first: readonly number[], later: readonly number[]): Promise<void> {
    for (const ids of [first, later]) {
      await Promise.all(ids.map((id) => this.member(id).server.launch()))
      await Promise.all(ids.map((id) => this.member(id).server.untilServing()))
    }
  }

  /** From their next start on; all must be down. */
  setVoters(voters: number): void {
    for (const { server } of this.members) server.become({ cfg: this.cfg(voters) })
  }

  /** Every server has applied the same transactions. */
  async untilLevel(): Promise<void> {
    await until('the servers are of different zxids', async () => {
      const zxids = await Promise.all(this.members.map((member) => member.zxid()))
      return new Set(zxids).size === 1
    })
  }

  async dispose(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.dispose()))
  }
}

/** One server of the ensemble. */
export class Member {
  readonly id: number
  readonly kind: Kind
  readonly server: ManagedServer

  constructor(id: number, command: ServerCommand, cfg: string) {
    this.id = id
    this.kind = command.name === 'zabra' ? 'zabra' : 'apache'
    this.server = new ManagedServer(command, { cfg, myid: id, properties })
  }

  get port(): number {
    return this.server.port
  }

  get name(): string {
    return `${this.server.name} (server ${this.id})`
  }

  /** How many bytes it has said so far. */
  get logLength(): number {
    return this.server.log.length
  }

  /** How often it said, after a point in its log, that a learner was brought up in this way. */
  countSyncs(as: 'leader' | 'learner', sync: Sync, since: number): number {
    return [...this.server.log.slice(since).matchAll(sayings[this.kind][as][sync])].length
  }

  async mode(): Promise<string | undefined> {
    return /^Mode: (\w+)/m.exec(await this.ask('srvr'))?.[1]
  }

  async zxid(): Promise<string | undefined> {
    return /^Zxid: (\w+)/m.exec(await this.ask('srvr'))?.[1]
  }

  tree(): Promise<Tree> {
    return wholeTree(this.port)
  }

  digests(): Promise<ReadonlyMap<string, string>> {
    return rememberedDigests(loopback, this.port)
  }

  /** Lines in which it says that its tree is not that of its leader. */
  digestComplaints(): string[] {
    return digestComplaints(this.server.log)
  }

  /** A transaction that contains the text is in its log, as far as processes can see. */
  async untilLogged(text: string): Promise<void> {
    const dir = join(this.server.dir, 'data', 'version-2')
    await until(`${this.name} has not logged ${text}`, () => {
      if (!existsSync(dir)) return false
      const logs = readdirSync(dir).filter((name) => name.startsWith('log.'))
      return logs.some((name) => readFileSync(join(dir, name)).includes(text))
    })
  }

  /** As if its disk had been replaced; it must be down. */
  loseData(): void {
    rmSync(join(this.server.dir, 'data', 'version-2'), { recursive: true, force: true })
  }

  private ask(word: string): Promise<string> {
    return askFourLetters(loopback, this.port, word)
  }
}

/** Asks again until it holds; the sentence says what is wrong when it never does. */
export async function until(
  complaint: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${complaint}, after ${patienceMs} ms`)
    await delay(20)
  }
}
