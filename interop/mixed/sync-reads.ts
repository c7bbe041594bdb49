import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { zabraCommand, type ServerCommand } from '../src/commands.ts'
import { Ensemble } from '../src/ensemble.ts'
import { until, untilDone } from '../src/until.ts'
import { Counted, noneSeen, sessionTimeoutMs, Traffic, type Seen, type Tally } from './counted.ts'
import { membersOf, patienceMs, properties, type Kind, type Member } from './ensemble.ts'
import { within } from './held-session.ts'
import { Links } from './links.ts'

/** The result of one check. */
export interface SyncReads {
  readonly name: string
  /** Sentences; none if the check passed. */
  readonly problems: readonly string[]
  /** What happened, for the table with `syncReadsHead`. */
  readonly counts: readonly string[]
  /** The median of a sync through each server, if it was measured. */
  readonly latencies?: readonly string[]
}

export const syncReadsHead = [
  'reads',
  'stale',
  'rounds',
  'asked the old leader',
  'stale',
  'failed',
  'stopped for',
] as const

/** How a leader is replaced. */
interface Replacement {
  readonly name: string
  readonly tickMs: number
  readonly syncLimit: number
  /** Whether the leader is stopped (SIGSTOP) until another leader has acknowledged writes. */
  readonly stops: boolean
  /**
   * The connections of the others to the leader are closed: on both sides, or so that the leader
   * does not notice. By default the others wait until they miss the leader.
   */
  readonly links?: 'cut' | 'stranded'
}

const replacements = {
  stopped: { name: 'leader stopped', tickMs: 500, syncLimit: 4, stops: true },
  /** A leader that was stopped for more than a tick doubts by itself that it still leads. */
  briefly: {
    name: 'leader stopped for less than a tick',
    tickMs: 3000,
    syncLimit: 2,
    stops: true,
    links: 'stranded',
  },
  unnoticed: {
    name: 'leader alone without noticing',
    tickMs: 1000,
    syncLimit: 4,
    stops: false,
    links: 'stranded',
  },
  cut: { name: 'leader cut off', tickMs: 500, syncLimit: 10, stops: false, links: 'cut' },
} as const satisfies Record<string, Replacement>

interface Setting {
  readonly apache: ServerCommand
  /** The kind that leads before a leader is replaced. */
  readonly leader: Kind
  readonly confirms: boolean
  /** Whether stale reads may or must occur. */
  readonly stale: 'forbidden' | 'allowed' | 'required'
}

const commonCfg = `
initLimit=20
maxSessionTimeout=600000
maxClientCnxns=0
preAllocSize=256
4lw.commands.whitelist=*
`
const quietReads = 300
const syncsBefore = 100
const syncsTimed = 300
const newerWrites = 5

/**
 * Reads after a sync show all that any server acknowledged before the sync, if zabra leads; also if
 * the leader that is asked was replaced. Without `sync.confirmLeader` such a leader may show old
 * values, which proves that these checks can fail. Apache's leader is only observed.
 */
export async function* syncReads(
  apache: ServerCommand,
  rounds: number,
): AsyncGenerator<SyncReads, void, void> {
  const underZabra: Setting = { apache, leader: 'zabra', confirms: true, stale: 'forbidden' }
  const unconfirmed: Setting = { ...underZabra, confirms: false, stale: 'allowed' }
  const provoked: Setting = { ...unconfirmed, stale: 'required' }
  const underApache: Setting = { ...underZabra, leader: 'apache', stale: 'allowed' }
  const few = Math.min(rounds, 3)
  yield quiet(underZabra)
  for (const how of Object.values(replacements)) yield replaced(underZabra, how, rounds)
  yield quiet(unconfirmed)
  yield replaced(unconfirmed, replacements.stopped, few)
  yield replaced(provoked, replacements.briefly, rounds)
  yield replaced(provoked, replacements.unnoticed, rounds)
  yield quiet(underApache)
  yield replaced(underApache, replacements.stopped, few)
  yield replaced(underApache, replacements.unnoticed, few)
}

/** Nothing is disturbed. */
function quiet(setting: Setting): Promise<SyncReads> {
  const name = `${nameOf(setting)}, quiet`
  return play(name, setting, { tickMs: 500, syncLimit: 10 }, async (scene) => {
    const latencies = await scene.timeSyncs()
    await scene.readQuietly()
    return latencies
  })
}

/** The leader is replaced in each round, and clients ask the old one. */
function replaced(setting: Setting, how: Replacement, rounds: number): Promise<SyncReads> {
  return play(`${nameOf(setting)}, ${how.name}`, setting, how, async (scene) => {
    for (let round = 0; round < rounds && !scene.isProven; round++) await scene.replaceLeader(how)
    return undefined
  })
}

function nameOf({ leader, confirms }: Setting): string {
  if (leader === 'apache') return 'Apache leads'
  return confirms ? 'zabra leads' : 'zabra leads, sync.confirmLeader=false'
}

async function play(
  name: string,
  setting: Setting,
  { tickMs, syncLimit }: Pick<Replacement, 'tickMs' | 'syncLimit'>,
  act: (scene: Scene) => Promise<readonly string[] | undefined>,
): Promise<SyncReads> {
  const { apache, confirms, leader } = setting
  const ensemble = await Ensemble.open([apache, apache, zabraCommand()], {
    cfg: `${commonCfg}tickTime=${tickMs}\nsyncLimit=${syncLimit}`,
    cfgOf: ({ name: kind }) => (kind === 'zabra' ? `sync.confirmLeader=${String(confirms)}` : ''),
    properties,
  })
  const links = await Links.open(ensemble.servers)
  ensemble.configure({ portsSeen: (from, to) => links.ports(from, to) })
  const problems: string[] = []
  let scene: Scene | undefined
  try {
    // Of two servers the one with the larger number leads.
    await ensemble.start(...(leader === 'zabra' ? [[1, 3], [2]] : [[1, 2], [3]]))
    scene = await Scene.open(ensemble, links, setting)
    const latencies = await act(scene)
    problems.push(...scene.problems)
    return { name, problems, counts: scene.counts, ...(latencies && { latencies }) }
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
    problems.push(...(scene?.problems ?? []), ...ensemble.logTails(12))
    return { name, problems, counts: scene?.counts ?? [] }
  } finally {
    links.close()
    await ensemble.dispose()
  }
}

class Scene {
  /** What clients of an old leader saw. */
  private readonly asked: Tally = noneSeen()
  /** What readers that move to whatever serves saw. */
  private readonly traffic: Tally = noneSeen()
  private readonly complaints: string[] = []
  private readonly pausesMs: number[] = []
  private readonly ensemble: Ensemble
  private readonly links: Links
  private readonly setting: Setting
  private readonly counted: Counted
  private readonly members: readonly Member[]
  private rounds = 0

  static async open(ensemble: Ensemble, links: Links, setting: Setting): Promise<Scene> {
    const members = membersOf(ensemble)
    return new Scene(ensemble, links, setting, members, await Counted.create(members[0]!))
  }

  private constructor(
    ensemble: Ensemble,
    links: Links,
    setting: Setting,
    members: readonly Member[],
    counted: Counted,
  ) {
    this.ensemble = ensemble
    this.links = links
    this.setting = setting
    this.members = members
    this.counted = counted
  }

  /** One stale read is enough where one is required. */
  get isProven(): boolean {
    return this.setting.stale === 'required' && this.asked.stale > 0
  }

  get problems(): string[] {
    const stale = this.asked.stale + this.traffic.stale
    const { setting, complaints } = this
    if (setting.stale === 'forbidden' && stale > 0) {
      return [`${stale} reads after a sync were stale`, ...complaints]
    }
    if (setting.stale === 'required' && stale === 0) {
      return ['no read was stale: this check would not notice one', ...complaints]
    }
    return [...complaints]
  }

  get counts(): string[] {
    const { asked, traffic, rounds, pausesMs } = this
    const [reads, readsAsked] = [sum(traffic), sum(asked)]
    const failed = asked.refused + asked.lost
    const counts = [reads - traffic.refused - traffic.lost, traffic.stale]
    if (rounds > 0) counts.push(rounds, readsAsked, asked.stale, failed)
    const pause = pausesMs.length > 0 ? [`${median(pausesMs).toFixed(0)} ms`] : []
    return [...counts.map(String), ...pause]
  }

  // --- a quiet ensemble ------------------------------------------------------------------------

  /** The median through each server: name and milliseconds. */
  async timeSyncs(): Promise<string[]> {
    const medians: string[] = []
    for (const member of this.members) {
      await this.counted.timeSyncs(member, syncsBefore)
      const ms = median(await this.counted.timeSyncs(member, syncsTimed))
      medians.push(`${member.kind} (${await member.mode()}): ${ms.toFixed(2)} ms`)
    }
    return medians
  }

  async readQuietly(): Promise<void> {
    const traffic = new Traffic(this.members, this.counted)
    try {
      await until('too few reads after a sync', patienceMs, () => traffic.fewest >= quietReads)
    } finally {
      await this.end(traffic)
    }
    const { lost, refused } = this.traffic
    if (lost + refused > 0) this.complaints.push(`${lost + refused} reads failed`)
  }

  // --- a leader that was replaced --------------------------------------------------------------

  async replaceLeader(how: Replacement): Promise<void> {
    const { counted, links } = this
    const old = await this.lead()
    const others = this.members.filter((member) => member !== old)
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect(old)))
    const [first, second, late, persistent] = clients as [
      RawClient,
      RawClient,
      RawClient,
      RawClient,
    ]
    const moving = await connect(others[0]!)
    await moving.abandon()
    const traffic = new Traffic(this.members, counted)
    try {
      await until('no traffic', patienceMs, () => traffic.fewest > 0)
      const stoppedMs = performance.now()
      if (how.stops) await old.server.freeze()
      if (how.links === 'cut') links.cut(old.server)
      else if (how.links === 'stranded') links.strand(old.server)
      await this.writeNewer(await leaderOf(others))
      const seen = [
        counted.syncAndRead(first),
        counted.syncAndRead(second),
        this.moveAndRead(moving, old),
      ]
      if (how.stops) {
        old.server.thaw()
        this.pausesMs.push(performance.now() - stoppedMs)
      }
      seen.push(counted.syncAndRead(late))
      const all = Promise.all([...seen, this.readUntilLost(persistent)])
      for (const each of await within(all, 'the old leader neither answered nor ended')) {
        this.asked[each]++
      }
    } finally {
      links.heal()
      old.server.thaw()
      await this.end(traffic)
    }
    await this.readFrom(old)
    this.rounds++
  }

  /** Brings a server of the wanted kind to lead, with all servers up to date. */
  private async lead(): Promise<Member> {
    const { ensemble, members } = this
    for (let attempt = 0; attempt < 10; attempt++) {
      await ensemble.untilServing()
      const leader = await leaderOf(members)
      // After an election servers report different zxids until something is written.
      await this.writeNewer(leader)
      await ensemble.untilLevel()
      if (leader.kind === this.setting.leader) return leader
      await leader.server.stop('SIGKILL')
      await leaderOf(members.filter((member) => member !== leader))
      await leader.server.start()
    }
    throw new Error(`${this.setting.leader} does not come to lead`)
  }

  private async writeNewer(next: Member): Promise<void> {
    await untilDone(patienceMs, async () => {
      const client = await connect(next)
      for (let i = 0; i < newerWrites; i++) await this.counted.write(client)
      await client.close()
    })
  }

  /** A session that was on another server comes to the old leader. */
  private async moveAndRead(moving: RawClient, old: Member): Promise<Seen> {
    const { sessionId, password } = moving
    const client = await connect(old, { sessionId, password }).catch(() => undefined)
    if (client === undefined) return 'lost'
    const seen = await this.counted.syncAndRead(client)
    await client.abandon()
    return seen
  }

  /** Asks again and again; stale if any of the answers was. */
  private async readUntilLost(client: RawClient): Promise<Seen> {
    let worst: Seen = 'lost'
    while (client.isConnected) {
      const seen = await this.counted.syncAndRead(client)
      if (seen === 'stale' || worst === 'lost') worst = seen
    }
    return worst
  }

  /** The old leader serves again, as a follower, and a sync through it shows everything. */
  private async readFrom(old: Member): Promise<void> {
    let seen: Seen = 'lost'
    await until(`${old.name} does not serve again`, patienceMs, async () => {
      const client = await connect(old).catch(() => undefined)
      if (client === undefined) return false
      seen = await this.counted.syncAndRead(client)
      await client.close()
      return seen === 'current' || seen === 'stale'
    })
    this.traffic[seen]++
  }

  private async end(traffic: Traffic): Promise<void> {
    await within(traffic.stop(), 'a request is never answered')
    this.complaints.push(...traffic.problems)
    for (const member of this.members) {
      for (const [seen, count] of Object.entries(traffic.through(member))) {
        this.traffic[seen as Seen] += count
      }
    }
  }
}

function connect(
  at: Member,
  session?: { readonly sessionId: bigint; readonly password: Uint8Array },
): Promise<RawClient> {
  return RawClient.connect(at.port, {
    timeoutMs: sessionTimeoutMs,
    ...(session === undefined ? {} : { session }),
  })
}

async function leaderOf(members: readonly Member[]): Promise<Member> {
  let leader: Member | undefined
  await until('no server leads', patienceMs, async () => {
    const modes = await Promise.all(members.map((member) => member.mode()))
    leader = members[modes.indexOf('leader')]
    return leader !== undefined
  })
  return leader!
}

function sum(tally: Tally): number {
  return Object.values(tally).reduce((all, count) => all + count, 0)
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}
