import type { QuorumPacket } from '@zabra/protocol'
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
  /** Must send FOLLOWERINFO or OBSERVERINFO. */
  | 'connected'
  /** Has introduced itself. The epoch is not known yet. */
  | 'introduced'
  /** Was sent LEADERINFO. Must send ACKEPOCH. */
  | 'asked'
  /** Has promised the epoch. Waits for a quorum, or for the log to be read. */
  | 'promised'
  /** Its history is being sent. Live packets are queued. */
  | 'synchronizing'
  /** Was sent everything that it lacked, and NEWLEADER. From now on silence is noticed. */
  | 'sent'
  /** Has acknowledged NEWLEADER: the history is on its disk. */
  | 'acknowledged'
  /** Was sent UPTODATE. From now on it gets live packets at once, and answers each ping. */
  | 'upToDate'
  /** Has acknowledged UPTODATE, and serves clients. */
  | 'following'
  /** Its connection has ended. */
  | 'gone'

/** The legal changes. A learner that comes back starts again on a new connection. */
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

/** The states in order. A learner that is gone has reached none of them. */
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

/** In these states a learner must not send anything, so it is not read from. */
const waiting: ReadonlySet<LearnerState> = new Set(['introduced', 'promised', 'synchronizing'])

/** The parts of a learner's connection that a machine may read. Only the driver sends and closes. */
export interface LearnerLink {
  readonly remoteAddress: string
  /** Data that the other side has not received yet. */
  readonly unsentBytes: number
  readonly packetsSent: number
  readonly packetsReceived: number
}

/** A learner as monitoring sees it. */
export interface LearnerView {
  readonly sid: ServerId
  readonly isObserver: boolean
  /** It gets proposals or commits as they happen. */
  readonly isSynced: boolean
  readonly link: LearnerLink
  readonly joinedWallMs: number
  readonly requests: number
  /** Queued packets, and their bytes together with the unsent ones. */
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
  /** Its server id, once it has introduced itself. */
  sid: ServerId = -1n
  isObserver = false
  /** While it joins: the time by which its next packet must have come. */
  deadlineMs = Infinity
  /** The end of its log, according to its promise. */
  loggedZxid = 0n
  /** How it is synchronized, once that is decided. */
  plan: SyncPlan['kind'] | undefined
  /** The configuration at the end of its history, if it is known before the history is sent. */
  config: Uint8Array | undefined
  /** The end of the history it joined with. */
  history = 0n
  readonly acks = new AckWatch()
  /** The newest round of pings it has answered. */
  answeredRound = 0
  /** The tick by which it must have sent something. */
  deadlineTick = Infinity
  requests = 0
  /** Packets that wait until its history is sent; undefined if packets are sent at once. */
  held: QuorumPacket[] | undefined
  /** Bytes of these packets. */
  heldBytes = 0
  /** Whether it is read from now. */
  isListenedTo = true
  private current: LearnerState = 'connected'
  /** The rounds of pings it has not answered yet. */
  private readonly pings = new Fifo<number>()

  constructor(link: LearnerLink, joinedWallMs: number) {
    this.link = link
    this.joinedWallMs = joinedWallMs
  }

  // --- its state ---------------------------------------------------------------------------------

  get state(): LearnerState {
    return this.current
  }

  become(next: LearnerState): void {
    const { current } = this
    assert(successors[current].includes(next), `a learner changes from ${current} to ${next}`)
    this.current = next
    this.isListenedTo = !waiting.has(next)
  }

  /** Whether it is in this state or a later one. */
  hasReached(state: LearnerState): boolean {
    return ranks[this.current] >= ranks[state]
  }

  /** Its history is being sent, and it has not acknowledged it. */
  get isBroughtUp(): boolean {
    return this.plan !== undefined && !this.hasReached('acknowledged')
  }

  get isUpToDateVoter(): boolean {
    return !this.isObserver && this.hasReached('acknowledged')
  }

  // --- what it is sent ---------------------------------------------------------------------------

  /** Bytes it has not taken yet, without its history, which has limits of its own. */
  get queuedBytes(): number {
    return this.heldBytes + (this.hasReached('acknowledged') ? this.link.unsentBytes : 0)
  }

  /** It is pinged in a round. Before UPTODATE it does not answer. */
  pinged(round: number): void {
    this.pings.push(round)
  }

  answeredPing(): void {
    this.answeredRound = this.pings.shift() ?? this.answeredRound
  }

  // --- for monitoring ----------------------------------------------------------------------------

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
