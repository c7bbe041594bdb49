/** Election machines and their links in a virtual network, under one seed; for tests. */
import { encodeNotification, readNotification } from '@zabra/protocol'
import type { Membership } from '../../../src/membership/membership.ts'
import type { ServerId } from '../../../src/membership/quorum.ts'
import {
  Election,
  type Decision,
  type ElectionTiming,
  type Envelope,
} from '../../../src/consensus/election/election.ts'
import { Links, type ConnectionId, type LinkAction } from '../../../src/consensus/election/links.ts'

export interface WorldOptions {
  readonly seed: number
  readonly config: Membership
  readonly timing?: Partial<ElectionTiming>
  /** A message takes up to so long. */
  readonly delayMaxMs: number
}

/** The facts about servers that checks use. */
export interface Witness {
  started(server: WorldServer): void
  sent(from: WorldServer, envelope: Envelope): void
  decided(server: WorldServer, decision: Decision): void
}

/** One server: what its disk holds, and its machines while it runs. */
export interface WorldServer {
  readonly id: ServerId
  /** Counts its starts. */
  incarnation: number
  isUp: boolean
  /** The content of its disk. */
  last: { zxid: bigint; peerEpoch: bigint }
  election: Election
  links: Links
  decision: Decision | undefined
}

/** A connection between two servers, either of which may believe that it is closed. */
interface Wire {
  readonly id: ConnectionId
  readonly ends: readonly [WireEnd, WireEnd]
}

interface WireEnd {
  readonly server: WorldServer
  readonly incarnation: number
  isOpen: boolean
  /** Bytes arrive in the order in which they were sent. */
  arrivesAtMs: number
}

interface Event {
  readonly atMs: number
  readonly run: () => void
}

/** How often a server with a role makes sure that it is still worth having. */
const roleCheckMs = 500

export class World {
  readonly servers = new Map<ServerId, WorldServer>()
  readonly random: () => number
  nowMs = 0
  private readonly options: WorldOptions
  private readonly witness: Witness
  private readonly wires = new Map<ConnectionId, Wire>()
  private readonly cut = new Set<string>()
  private events: Event[] = []
  private nextWire = 1

  constructor(options: WorldOptions, witness: Witness) {
    this.options = options
    this.witness = witness
    this.random = generator(options.seed)
    for (const id of options.config.servers.keys()) {
      const zxid = BigInt(Math.floor(this.random() * 3))
      this.servers.set(id, { ...this.machines(id), id, incarnation: 0, isUp: false, ...idle(zxid) })
    }
  }

  /** Lets so much time pass. */
  run(forMs: number): void {
    const untilMs = this.nowMs + forMs
    for (;;) {
      const next = this.events[0]
      if (next === undefined || next.atMs > untilMs) break
      this.events.shift()
      this.nowMs = next.atMs
      next.run()
    }
    this.nowMs = untilMs
  }

  /** Between two times, a random one. */
  between(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1))
  }

  boot(server: WorldServer): void {
    Object.assign(server, this.machines(server.id))
    server.isUp = true
    server.incarnation++
    this.look(server)
  }

  crash(server: WorldServer): void {
    server.isUp = false
    server.decision = undefined
    for (const wire of this.wires.values()) {
      if (wire.ends.some((end) => end.server === server)) this.reset(wire)
    }
  }

  /** No bytes pass between two servers, and what is open between them breaks. */
  part(one: ServerId, other: ServerId): void {
    this.cut.add(pair(one, other))
    this.breakWires(one, other)
  }

  heal(): void {
    this.cut.clear()
  }

  /** Connections break, without the network being worse afterwards. */
  breakWires(one: ServerId, other: ServerId): void {
    for (const wire of this.wires.values()) {
      const ids = wire.ends.map(({ server }) => server.id)
      if (ids.includes(one) && ids.includes(other)) this.reset(wire)
    }
  }

  reaches(one: ServerId, other: ServerId): boolean {
    return !this.cut.has(pair(one, other)) && this.isUp(one) && this.isUp(other)
  }

  private isUp(id: ServerId): boolean {
    return this.servers.get(id)?.isUp === true
  }

  private machines(self: ServerId): { election: Election; links: Links } {
    const { config, timing = {} } = this.options
    const links = new Links({ self, addresses: [`host${self}:3888`] })
    const isGone = (server: ServerId): boolean => links.isGone(server)
    return {
      election: new Election({ self, config: { committed: config }, timing, isGone }),
      links,
    }
  }

  private look(server: WorldServer): void {
    server.decision = undefined
    this.witness.started(server)
    server.election.start(server.last, this.nowMs)
    this.carryOut(server)
  }

  private after(delayMs: number, run: () => void): void {
    const event = { atMs: this.nowMs + delayMs, run }
    let at = this.events.length
    while (at > 0 && this.events[at - 1]!.atMs > event.atMs) at--
    this.events.splice(at, 0, event)
  }

  /** The same, unless the server is another process by then. */
  private afterFor(server: WorldServer, delayMs: number, run: () => void): void {
    const { incarnation } = server
    this.after(delayMs, () => {
      if (server.isUp && server.incarnation === incarnation) run()
    })
  }

  private delay(): number {
    return this.between(0, this.options.delayMaxMs)
  }

  private carryOut(server: WorldServer): void {
    server.election.reachabilityChanged(this.nowMs)
    const { send, decision } = server.election.takeReady()
    for (const envelope of send) {
      this.witness.sent(server, envelope)
      server.links.send(envelope.to, encodeNotification(envelope.notification))
    }
    if (decision !== undefined) {
      server.decision = decision
      this.witness.decided(server, decision)
      this.checkRole(server, decision)
    }
    for (const action of server.links.takeActions()) this.act(server, action)
    this.wake(server)
  }

  private wake(server: WorldServer): void {
    const at = server.election.wakeAtMs
    if (at === undefined) return
    this.afterFor(server, Math.max(0, at - this.nowMs), () => {
      if (server.election.wakeAtMs !== at) return
      server.election.tick(this.nowMs)
      this.carryOut(server)
    })
  }

  private act(server: WorldServer, action: LinkAction): void {
    if (action.type === 'dial') this.dial(server, action.server)
    else if (action.type === 'send') this.transmit(server, action.connection, action.bytes)
    else if (action.type === 'close') this.hangUp(server, action.connection)
    else {
      const notification = readNotification(action.payload)
      if (notification === undefined) throw new Error('a notification can be read')
      server.election.receive(action.from, notification, this.nowMs)
      this.carryOut(server)
    }
  }

  private dial(from: WorldServer, to: ServerId): void {
    this.afterFor(from, this.delay(), () => {
      const target = this.servers.get(to)
      if (target === undefined || !this.reaches(from.id, to)) {
        from.links.dialFailed(to)
        this.carryOut(from)
        return
      }
      const id = this.nextWire++
      this.wires.set(id, { id, ends: [this.end(from), this.end(target)] })
      target.links.accepted(id)
      this.carryOut(target)
      from.links.dialled(to, id)
      this.carryOut(from)
    })
  }

  private end(server: WorldServer): WireEnd {
    return { server, incarnation: server.incarnation, isOpen: true, arrivesAtMs: 0 }
  }

  private endsFor(server: WorldServer, id: ConnectionId): [WireEnd, WireEnd] | undefined {
    const wire = this.wires.get(id)
    if (wire === undefined) return undefined
    const [one, other] = wire.ends
    return one.server === server ? [one, other] : [other, one]
  }

  private transmit(server: WorldServer, id: ConnectionId, bytes: Uint8Array): void {
    const [mine, theirs] = this.endsFor(server, id) ?? []
    if (mine === undefined || theirs === undefined) return
    this.afterFor(server, this.delay(), () => {
      server.links.sent(id)
      this.carryOut(server)
    })
    // Streams are cut anywhere: what arrives is not what was sent at once.
    const cutAt = this.between(1, bytes.length)
    for (const piece of [bytes.subarray(0, cutAt), bytes.subarray(cutAt)]) {
      if (piece.length > 0)
        this.arrive(id, mine, theirs, () => theirs.server.links.received(id, piece))
    }
  }

  private hangUp(server: WorldServer, id: ConnectionId): void {
    const [mine, theirs] = this.endsFor(server, id) ?? []
    if (mine === undefined || theirs === undefined) return
    mine.isOpen = false
    this.arrive(id, mine, theirs, () => {
      theirs.isOpen = false
      theirs.server.links.closed(id)
      this.wires.delete(id)
    })
  }

  /** In order; if the other end is gone, whoever sent learns that sooner or later. */
  private arrive(id: ConnectionId, mine: WireEnd, theirs: WireEnd, run: () => void): void {
    theirs.arrivesAtMs = Math.max(theirs.arrivesAtMs, this.nowMs + this.delay())
    this.after(theirs.arrivesAtMs - this.nowMs, () => {
      const { server, incarnation } = theirs
      if (theirs.isOpen && server.isUp && server.incarnation === incarnation) {
        run()
        this.carryOut(server)
      } else if (mine.isOpen) {
        this.notice(id, mine)
      }
    })
  }

  /** One end learns that the connection is gone. */
  private notice(id: ConnectionId, end: WireEnd): void {
    this.afterFor(end.server, this.delay(), () => {
      if (!end.isOpen || end.server.incarnation !== end.incarnation) return
      end.isOpen = false
      end.server.links.closed(id)
      this.carryOut(end.server)
    })
  }

  /** Bytes under way are lost; each end learns it in its own time. */
  private reset(wire: Wire): void {
    this.wires.delete(wire.id)
    for (const end of wire.ends) {
      if (!end.isOpen) continue
      end.isOpen = false
      // It may believe in the connection for a while yet.
      this.afterFor(end.server, this.between(0, 10) * this.options.delayMaxMs, () => {
        if (end.server.incarnation !== end.incarnation) return
        end.server.links.closed(wire.id)
        this.carryOut(end.server)
      })
    }
  }

  /**
   * Zab's handling of a decision, in short: a leader needs a quorum that follows it, a follower
   * needs its leader; without, they look again. Together they begin a new epoch.
   */
  private checkRole(server: WorldServer, decision: Decision): void {
    this.afterFor(server, roleCheckMs, () => {
      if (server.decision !== decision) return
      if (!this.isWorthIt(server, decision)) {
        server.election.pause()
        this.look(server)
        return
      }
      this.checkRole(server, decision)
    })
  }

  private isWorthIt({ id }: WorldServer, { state, leader }: Decision): boolean {
    if (state !== 'leading') {
      const leads = this.servers.get(leader)?.decision?.state === 'leading'
      return leads && this.reaches(id, leader)
    }
    const followers = this.followersOf(id)
    const voters = [...this.options.config.servers].filter(([, { role }]) => role === 'participant')
    if (followers.length * 2 <= voters.length) return false
    const epochs = followers.map(({ last }) => last.peerEpoch)
    if (new Set(epochs).size > 1 || this.random() < 0.2) this.establish(followers)
    return true
  }

  /** Voters that follow a leader, itself included. */
  followersOf(leader: ServerId): WorldServer[] {
    return [...this.servers.values()].filter(
      ({ id, decision }) =>
        decision?.leader === leader &&
        decision.state !== 'observing' &&
        (id === leader || this.reaches(id, leader)),
    )
  }

  private establish(followers: readonly WorldServer[]): void {
    const peerEpoch = followers.reduce((max, { last }) => bigMax(max, last.peerEpoch), 0n) + 1n
    for (const server of followers) {
      server.election.established(peerEpoch)
      server.last = { peerEpoch, zxid: (peerEpoch << 32n) + BigInt(this.between(0, 2)) }
    }
  }
}

function idle(zxid: bigint): { last: WorldServer['last']; decision: undefined } {
  return { last: { zxid, peerEpoch: 0n }, decision: undefined }
}

function bigMax(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function pair(one: ServerId, other: ServerId): string {
  return one < other ? `${one}-${other}` : `${other}-${one}`
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function generator(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
