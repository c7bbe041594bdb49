/** Sees and hears all of an ensemble, and knows what Zab promises. */
import { Reader } from '@zabra/protocol'
import { decodeTxn } from '../../src/consensus/zab/decoded-txn.ts'
import { epochOf, epochStart } from '../../src/storage/zxid.ts'
import { majority, type QuorumVerifier, type ServerId } from '../../src/membership/quorum.ts'
import type { Said, TestEnsemble } from './ensemble.ts'
import type { TestServer } from './test-server.ts'
import { show } from './puppet.ts'

/** A transaction that made a node; clients of a witnessed ensemble do nothing else. */
export interface Made {
  readonly zxid: bigint
  readonly path: string
}

interface Primary {
  readonly id: ServerId
  readonly epoch: bigint
  /** The transactions that it had delivered at its first broadcast. */
  readonly before: ReadonlySet<bigint>
  readonly broadcasts: Made[]
}

/** A server that begins to serve in an epoch, and what it has delivered by then. */
interface Beginning {
  readonly id: ServerId
  readonly epoch: bigint
  readonly has: ReadonlySet<bigint>
}

/** A leadership from its first word on, heard of as long as it recovers. */
interface Recovery {
  readonly history: { readonly current: bigint; readonly zxid: bigint; readonly made: Made[] }
  /** Those that accepted the epoch, and whose history is no longer than the leader's. */
  readonly joined: Set<ServerId>
  /** Those that have acknowledged NEWLEADER. */
  readonly brought: Set<ServerId>
}

/**
 * The delivered transactions are read from the tree of a serving server: every node is one
 * transaction, and its zxid says when. Between roles a tree holds what may be undone.
 */
export class Witness {
  readonly primaries = new Map<bigint, Primary>()
  /** By leader and epoch: two may try the same epoch, one gets a quorum for it. */
  private readonly recoveries = new Map<string, Recovery>()
  private readonly leaders = new Map<bigint, ServerId>()
  private readonly world: TestEnsemble
  private readonly verifier: QuorumVerifier
  /** In the order of delivery, for ever: also what a server should have forgotten since. */
  private readonly deliveries = new Map<ServerId, Made[]>()
  private readonly beginnings: Beginning[] = []
  private readonly lastSeen = new Map<ServerId, { zxid: bigint; serving: boolean }>()
  private readonly accepted = new Map<ServerId, bigint>()
  private readonly acks = new Map<bigint, Set<ServerId>>()
  private readonly commits = new Set<bigint>()
  private readonly promises = new Set<string>()
  private readonly complaints = new Map<Property, string[]>()

  constructor(world: TestEnsemble) {
    this.world = world
    this.verifier = majority({ voters: world.servers.keys() })
    for (const id of world.servers.keys()) this.deliveries.set(id, [])
    world.onTurn = () => {
      for (const server of world.servers.values()) this.look(server)
    }
    world.onSaid = (said) => this.hear(said)
  }

  delivered(server: TestServer): readonly Made[] {
    return this.deliveries.get(server.id)!
  }

  /** By property, whatever contradicts it; empty where all is well. */
  broken(): Partial<Record<Property, string[]>> {
    const found = new Map(this.complaints)
    for (const [property, check] of Object.entries(this.checks) as [Property, () => string[]][]) {
      const all = [...(found.get(property) ?? []), ...check()]
      if (all.length > 0) found.set(property, all.slice(0, 5))
    }
    return Object.fromEntries(found)
  }

  private complain(property: Property, text: string): void {
    const known = this.complaints.get(property) ?? []
    known.push(text)
    this.complaints.set(property, known)
  }

  // --- seeing ----------------------------------------------------------------------------------

  private look(server: TestServer): void {
    const { id, epochs } = server
    if (epochs !== undefined) {
      const before = this.accepted.get(id) ?? 0n
      if (epochs.accepted < before) {
        this.complain('acceptedEpochGrows', `${id} went from ${before} to ${epochs.accepted}`)
      }
      this.accepted.set(id, epochs.accepted)
    }
    const serving = server.isServing
    const zxid = serving ? server.peer!.db.lastZxid : 0n
    const last = this.lastSeen.get(id)
    if (last?.serving === serving && last.zxid === zxid) return
    this.lastSeen.set(id, { zxid, serving })
    if (!serving) return
    const state = madeOn(server)
    this.deliver(server, state)
    if (last?.serving !== true) {
      const has = new Set(state.map((made) => made.zxid))
      this.beginnings.push({ id, epoch: epochs!.current, has })
    }
  }

  private deliver({ id }: TestServer, state: readonly Made[]): void {
    const deliveries = this.deliveries.get(id)!
    const known = new Set(deliveries.map(({ zxid }) => zxid))
    const there = new Set(state.map(({ zxid }) => zxid))
    for (const made of state) if (!known.has(made.zxid)) deliveries.push(made)
    for (const { zxid } of deliveries) {
      if (!there.has(zxid)) this.complain('agreement', `${id} has undone ${show(zxid)}`)
    }
  }

  // --- hearing ---------------------------------------------------------------------------------

  private hear(said: Said): void {
    const { from, to, name, zxid, data } = said
    if (name === 'leaderInfo') this.recovery(from, epochOf(zxid))
    else if (name === 'ackEpoch') this.hearPromise(from, to, zxid, new Reader(data!).int())
    else if (name === 'newLeader') this.hearNewLeader(from, epochOf(zxid))
    else if (name === 'ack') this.hearAck(from, to, zxid)
    else if (name === 'proposal') this.hearProposal(from, zxid, data!)
    else if (name === 'commit') this.hearCommit(from, zxid)
  }

  private recovery(leader: ServerId, epoch: bigint): Recovery {
    const name = `${leader} in ${epoch}`
    const known = this.recoveries.get(name)
    if (known !== undefined) return known
    const server = this.world.servers.get(leader)!
    const { lastZxid } = server.peer!.db
    const history = { current: server.epochs!.current, zxid: lastZxid, made: madeOn(server) }
    const begun = { history, joined: new Set([leader]), brought: new Set([leader]) }
    this.recoveries.set(name, begun)
    return begun
  }

  private hearPromise(from: ServerId, to: ServerId, zxid: bigint, current: number): void {
    // An epoch that was accepted before is not promised a second time.
    if (current < 0) return
    const epoch = this.world.servers.get(from)!.epochs!.accepted
    const promise = `${from} in epoch ${epoch}`
    if (this.promises.has(promise)) this.complain('onePromise', `${promise} accepts once more`)
    this.promises.add(promise)
    const { history, joined } = this.recovery(to, epoch)
    const isShorter =
      BigInt(current) < history.current ||
      (BigInt(current) === history.current && zxid <= history.zxid)
    if (isShorter) joined.add(from)
  }

  private hearNewLeader(leader: ServerId, epoch: bigint): void {
    const other = this.leaders.get(epoch)
    if (other !== undefined && other !== leader) {
      this.complain('onePrimary', `${other} and ${leader} both begin epoch ${epoch}`)
    }
    this.leaders.set(epoch, leader)
    const { joined } = this.recovery(leader, epoch)
    if (this.verifier.isQuorum(joined)) return
    const few = `${leader} begins epoch ${epoch} with the longest history of only ${[...joined].join()}`
    this.complain('longestHistory', few)
  }

  private hearAck(from: ServerId, to: ServerId, zxid: bigint): void {
    if (zxid === epochStart(epochOf(zxid))) {
      const { brought, history } = this.recovery(to, epochOf(zxid))
      brought.add(from)
      const there = new Set(madeOn(this.world.servers.get(from)!).map((made) => made.zxid))
      for (const made of history.made) {
        if (there.has(made.zxid)) continue
        this.complain('historyFirst', `${from} follows ${to} without ${show(made.zxid)}`)
      }
      return
    }
    const acks = this.acks.get(zxid) ?? new Set()
    acks.add(from)
    this.acks.set(zxid, acks)
  }

  private hearProposal(from: ServerId, zxid: bigint, payload: Uint8Array): void {
    const epoch = epochOf(zxid)
    const server = this.world.servers.get(from)!
    // Broadcasts of earlier epochs are repeated for servers that lack them.
    if (epoch !== server.epochs!.accepted || !server.isLeading) return
    let primary = this.primaries.get(epoch)
    if (primary === undefined) {
      const before = new Set(madeOn(server).map((made) => made.zxid))
      primary = { id: from, epoch, before, broadcasts: [] }
      this.primaries.set(epoch, primary)
      const { brought } = this.recovery(from, epoch)
      if (!this.verifier.isQuorum(brought)) {
        const few = `${from} broadcasts in epoch ${epoch}, with its history on ${[...brought].join()}`
        this.complain('establishedFirst', few)
      }
    }
    if (primary.id !== from) {
      this.complain('onePrimary', `${primary.id} and ${from} both broadcast in epoch ${epoch}`)
    }
    const { txn } = decodeTxn(zxid, payload)
    if (!('path' in txn.body)) return
    const { path } = txn.body
    const isRepeated = primary.broadcasts.some((made) => made.zxid === zxid && made.path === path)
    if (!isRepeated) primary.broadcasts.push({ zxid, path: path ?? '' })
  }

  private hearCommit(from: ServerId, zxid: bigint): void {
    const isOwn = epochOf(zxid) === this.world.servers.get(from)!.epochs!.accepted
    if (!isOwn || this.commits.has(zxid)) return
    this.commits.add(zxid)
    const holders = new Set([from, ...(this.acks.get(zxid) ?? [])])
    if (this.verifier.isQuorum(holders)) return
    this.complain('quorumFirst', `${show(zxid)} is committed with only ${[...holders].join()}`)
  }

  // --- what the paper promises -----------------------------------------------------------------

  private readonly checks: Partial<Record<Property, () => string[]>> = {
    integrity: () => this.integrity(),
    totalOrder: () => this.totalOrder(),
    agreement: () => this.agreement(),
    localPrimaryOrder: () => this.localPrimaryOrder(),
    globalPrimaryOrder: () => this.globalPrimaryOrder(),
    primaryIntegrity: () => this.primaryIntegrity(),
    historyFirst: () => this.historyFirst(),
  }

  /** Every delivered transaction was broadcast unchanged, and is delivered once. */
  private integrity(): string[] {
    const broadcast = new Set<string>()
    for (const { broadcasts } of this.primaries.values()) {
      for (const made of broadcasts) broadcast.add(tell(made))
    }
    return this.each((id, deliveries) => [
      ...deliveries
        .filter((made) => !broadcast.has(tell(made)))
        .map((made) => `${id} delivered ${tell(made)}, which nobody broadcast`),
      ...deliveries
        .filter(({ path }, i) => deliveries.findIndex((made) => made.path === path) !== i)
        .map((made) => `${id} delivered ${tell(made)} once more`),
    ])
  }

  /** A server that delivers a transaction has delivered all that any server delivered before it. */
  private totalOrder(): string[] {
    return this.pairs((one, ours, other, theirs) => {
      const place = new Map(theirs.map(({ zxid }, i) => [zxid, i]))
      let latest: Made | undefined
      let latestPlace = -1
      const found: string[] = []
      // From the end: what comes before something they have must come before it there, too.
      for (const made of ours.toReversed()) {
        const there = place.get(made.zxid)
        if (latest !== undefined && (there === undefined || there > latestPlace)) {
          found.push(`${one} delivered ${tell(made)} before ${tell(latest)}, ${other} did not`)
        }
        if (there === undefined || (latest !== undefined && there > latestPlace)) continue
        latest = made
        latestPlace = there
      }
      return found
    })
  }

  /** Of two servers one has delivered all that the other has. */
  private agreement(): string[] {
    return this.pairs((one, ours, other, theirs) => {
      const lacks = (list: readonly Made[], from: readonly Made[]): Made | undefined =>
        from.find(({ zxid }) => !list.some((made) => made.zxid === zxid))
      const theyLack = lacks(theirs, ours)
      const weLack = lacks(ours, theirs)
      if (theyLack === undefined || weLack === undefined) return []
      return [`${one} delivered ${tell(theyLack)} and ${other} ${tell(weLack)}, neither both`]
    })
  }

  /** Of what one primary broadcast, a server delivers the first few, in order. */
  private localPrimaryOrder(): string[] {
    return this.each((id, deliveries) =>
      [...this.primaries].flatMap(([epoch, { broadcasts }]) => {
        const own = deliveries.filter(({ zxid }) => epochOf(zxid) === epoch)
        const wrong = own.findIndex((made, i) => made.zxid !== broadcasts[i]?.zxid)
        return wrong < 0 ? [] : [`${id} delivered ${tell(own[wrong]!)} out of its turn`]
      }),
    )
  }

  /** Nothing of an earlier primary comes after something of a later one. */
  private globalPrimaryOrder(): string[] {
    return this.each((id, deliveries) =>
      deliveries
        .filter(({ zxid }, i) => i > 0 && epochOf(zxid) < epochOf(deliveries[i - 1]!.zxid))
        .map((made) => `${id} delivered ${tell(made)} after something of a later epoch`),
    )
  }

  /** Before a primary broadcasts, it has delivered whatever of earlier ones is ever delivered. */
  private primaryIntegrity(): string[] {
    return [...this.primaries.values()].flatMap(({ id, epoch, before }) =>
      this.missing(epoch, before).map((made) => `primary ${id} of ${epoch} lacked ${tell(made)}`),
    )
  }

  /** Nobody delivers in an epoch before having what was ever delivered of earlier ones. */
  private historyFirst(): string[] {
    return this.beginnings.flatMap(({ id, epoch, has }) =>
      this.missing(epoch, has).map((made) => `${id} served in ${epoch} without ${tell(made)}`),
    )
  }

  private missing(epoch: bigint, has: ReadonlySet<bigint>): Made[] {
    const all = [...this.deliveries.values()].flat()
    return all.filter(({ zxid }) => epochOf(zxid) < epoch && !has.has(zxid))
  }

  private each(check: (id: ServerId, deliveries: readonly Made[]) => string[]): string[] {
    return [...this.deliveries].flatMap(([id, deliveries]) => check(id, deliveries))
  }

  private pairs(
    check: (
      one: ServerId,
      ours: readonly Made[],
      other: ServerId,
      theirs: readonly Made[],
    ) => string[],
  ): string[] {
    return this.each((one, ours) =>
      this.each((other, theirs) => (one === other ? [] : check(one, ours, other, theirs))),
    )
  }
}

export type Property =
  | 'integrity'
  | 'totalOrder'
  | 'agreement'
  | 'localPrimaryOrder'
  | 'globalPrimaryOrder'
  | 'primaryIntegrity'
  | 'acceptedEpochGrows'
  | 'onePromise'
  | 'onePrimary'
  | 'longestHistory'
  | 'historyFirst'
  | 'establishedFirst'
  | 'quorumFirst'

/** The transactions that a server's tree is made of, in the order of zxids. */
function madeOn(server: TestServer): Made[] {
  if (server.peer === undefined) return []
  const { tree } = server.peer.db
  return server.paths
    .map((path) => ({ path, zxid: tree.mzxid(tree.find(path)) }))
    .toSorted((a, b) => (a.zxid < b.zxid ? -1 : 1))
}

const tell = ({ zxid, path }: Made): string => `${path} of ${show(zxid)}`
