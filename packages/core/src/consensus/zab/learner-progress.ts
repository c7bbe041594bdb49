import { packetTypes, type QuorumPacket } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import { Fifo } from '../../base/fifo.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { AckWatch } from './ack-watch.ts'
import type { SyncPlan } from './sync-plan.ts'

/**
 * How far a learner has come, as seen by the server that brings it up:
 *
 *     connected ─> introduced ─> asked ─> promised ─> synchronizing ─> sent
 *         ─> acknowledged ─> upToDate ─> following
 *
 * and from each of them to `gone`, when its connection ends.
 */
export type LearnerState =
  /** FOLLOWERINFO or OBSERVERINFO is due. */
  | 'connected'
  /** It has said who it is. The epoch is not known yet. */
  | 'introduced'
  /** LEADERINFO is sent. ACKEPOCH is due. */
  | 'asked'
  /** It has promised our epoch. A quorum may have to do so, or the log may have to be read. */
  | 'promised'
  /** Its history is being sent. Live packets wait behind it. */
  | 'synchronizing'
  /** NEWLEADER is sent, and with it everything that it lacked. From now on silence is noticed. */
  | 'sent'
  /** It has acknowledged NEWLEADER: the history is on its disk. */
  | 'acknowledged'
  /** UPTODATE is sent. From now on it gets live packets at once, and answers each ping. */
  | 'upToDate'
  /** It has acknowledged UPTODATE, and serves clients. */
  | 'following'
  /** Its connection has ended. */
  | 'gone'

/** The legal changes. A learner that comes back begins again on a new connection. */
const successors: { readonly [State in LearnerState]: readonly LearnerState[] } = {
  connected: ['introduced', 'gone'],
  introduced: ['asked', 'gone'],
  asked: ['promised', 'gone'],
  promised: ['synchronizing', 'gone'],
  synchronizing: ['sent', 'gone'],
  sent: ['acknowledged', 'gone'],
  acknowledged: ['upToDate', 'gone'],
  upToDate: ['following', 'gone'],
  following: ['gone'],
  gone: [],
}

/** The states in their order. A learner that is gone has reached none of them. */
const ranks: { readonly [State in LearnerState]: number } = {
  gone: -1,
  connected: 0,
  introduced: 1,
  asked: 2,
  promised: 3,
  synchronizing: 4,
  sent: 5,
  acknowledged: 6,
  upToDate: 7,
  following: 8,
}

/** In these states it is not its turn to speak: its packets wait. */
const waiting: ReadonlySet<LearnerState> = new Set(['introduced', 'promised', 'synchronizing'])

/** What a machine may read of a learner's connection. Only the driver sends, reads and closes. */
export interface LearnerLink {
  readonly remoteAddress: string
  /** What the other side has not taken yet. */
  readonly unsentBytes: number
  readonly packetsSent: number
  readonly packetsReceived: number
}

/** A learner as monitoring sees it. */
export interface LearnerView {
  readonly sid: ServerId
  readonly isObserver: boolean
  /** It gets what is proposed or committed as that happens. */
  readonly isSynced: boolean
  readonly link: LearnerLink
  readonly joinedWallMs: number
  readonly requests: number
  /** Packets that wait until it is up to date, and their bytes with those on their way. */
  readonly held: number
  readonly heldBytes: number
}

/**
 * A learner as seen by the server that brings it up, its leader or a follower that takes observers:
 * from its connection until that ends.
 */
export class LearnerProgress {
  readonly link: LearnerLink
  readonly joinedWallMs: number
  /** Who it is, once it has said so. */
  sid: ServerId = -1n
  isObserver = false
  /** By this time it must have said what is due, while it joins. */
  deadlineMs = Infinity
  /** Up to where its log goes, by what it says in its promise. */
  loggedZxid = 0n
  /** How it is brought up, once that is decided. */
  plan: SyncPlan['kind'] | undefined
  /** The configuration that holds where its history ends, where that is known before it is sent. */
  config: Uint8Array | undefined
  /** The end of the history it joined with. */
  history = 0n
  readonly acks = new AckWatch()
  /** The newest round of pings that it has answered. */
  answeredRound = 0
  /** By this tick it must have been heard of again. */
  deadlineTick = Infinity
  requests = 0
  private current: LearnerState = 'connected'
  /** The rounds of its pings that are not answered yet. */
  private readonly pings = new Fifo<number>()
  private held: QuorumPacket[] | undefined
  private heldBytes = 0

  constructor(link: LearnerLink, joinedWallMs: number) {
    this.link = link
    this.joinedWallMs = joinedWallMs
  }

  // --- its state -------------------------------------------------------------------------------

  get state(): LearnerState {
    return this.current
  }

  become(next: LearnerState): void {
    const { current } = this
    assert(successors[current].includes(next), `a learner changes from ${current} to ${next}`)
    this.current = next
  }

  /** Whether it is in this state, or in a later one. */
  hasReached(state: LearnerState): boolean {
    return ranks[this.current] >= ranks[state]
  }

  /** Whether its packets are taken now. */
  get isListenedTo(): boolean {
    return !waiting.has(this.current)
  }

  /** Its history is on the way: how is decided, and it has not acknowledged it. */
  get isBroughtUp(): boolean {
    return this.plan !== undefined && !this.hasReached('acknowledged')
  }

  get isUpToDateVoter(): boolean {
    return !this.isObserver && this.hasReached('acknowledged')
  }

  // --- what it is sent -------------------------------------------------------------------------

  /** From now on live packets wait until `takeHeld`. */
  hold(): void {
    this.held ??= []
  }

  /** Keeps a packet that has to wait; false if it may leave at once. */
  keeps(packet: QuorumPacket, bytes: number): boolean {
    if (this.held === undefined) return false
    this.held.push(packet)
    this.heldBytes += bytes
    return true
  }

  /** What has waited, in order. From now on nothing has to wait. */
  takeHeld(): readonly QuorumPacket[] {
    const { held } = this
    this.held = undefined
    this.heldBytes = 0
    return held ?? []
  }

  /** A packet is on its way to it. */
  sending({ type, zxid }: QuorumPacket, nowMs: number): void {
    // What is part of the history it joins with is acknowledged with NEWLEADER, or later.
    if (type === packetTypes.proposal && this.hasReached('acknowledged')) {
      this.acks.sent(zxid, nowMs)
    }
  }

  /** What it has not taken yet, without its history: that has bounds of its own. */
  get queuedBytes(): number {
    return this.heldBytes + (this.hasReached('acknowledged') ? this.link.unsentBytes : 0)
  }

  /** It is pinged in a round whose answers count: before UPTODATE there is no answer. */
  pinged(round: number): void {
    this.pings.push(round)
  }

  answeredPing(): void {
    this.answeredRound = this.pings.shift() ?? this.answeredRound
  }

  // --- for monitoring --------------------------------------------------------------------------

  get view(): LearnerView {
    const { sid, isObserver, link, joinedWallMs, requests, held } = this
    return {
      sid,
      isObserver,
      isSynced: this.hasReached('synchronizing'),
      link,
      joinedWallMs,
      requests,
      held: held?.length ?? 0,
      heldBytes: this.heldBytes + link.unsentBytes,
    }
  }
}
