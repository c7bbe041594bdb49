import { assert } from '../../base/assert.ts'
import { Fifo } from '../../base/fifo.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { AckWatch } from './ack-watch.ts'
import type { PacketLink } from './links/packet-link.ts'

/**
 * How far a learner has come, as the server sees it that brings it up:
 *
 *     promised ──> synchronising ──> sent ──> acknowledged ──> upToDate ──> following
 *
 * and from each of them to `gone`, when its connection ends.
 */
export type LearnerState =
  /** It has promised our epoch. We look for the history that it lacks. */
  | 'promised'
  /** Its history is being sent. Live packets wait behind it. */
  | 'synchronising'
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
  promised: ['synchronising', 'gone'],
  synchronising: ['sent', 'gone'],
  sent: ['acknowledged', 'gone'],
  acknowledged: ['upToDate', 'gone'],
  upToDate: ['following', 'gone'],
  following: ['gone'],
  gone: [],
}

/** The states in their order. A learner that is gone has reached none of them. */
const ranks: { readonly [State in LearnerState]: number } = {
  gone: -1,
  promised: 0,
  synchronising: 1,
  sent: 2,
  acknowledged: 3,
  upToDate: 4,
  following: 5,
}

/** A learner as monitoring sees it. */
export interface LearnerView {
  readonly sid: ServerId
  readonly isObserver: boolean
  /** It gets what is proposed or committed as that happens. */
  readonly isSynced: boolean
  readonly link: PacketLink
  readonly joinedWallMs: number
  readonly requests: number
  /** Packets that wait until it is up to date, and their bytes with those on their way. */
  readonly held: number
  readonly heldBytes: number
}

/**
 * A learner as its leader sees it, or an observer as the follower that brings it up does: from its
 * promise of the epoch until its connection ends.
 */
export class LearnerProgress {
  readonly link: PacketLink
  readonly sid: ServerId
  readonly isObserver: boolean
  readonly joinedWallMs: number
  readonly acks = new AckWatch()
  /** The newest round of pings that it has answered. */
  answeredRound = 0
  /** The end of the history it joined with. */
  history = 0n
  /** By this tick it must have been heard of again. */
  deadlineTick: number
  requests = 0
  /** How it is brought up, once that is decided. */
  plan: 'snap' | 'diff' | undefined
  private current: LearnerState = 'promised'
  /** The rounds of its pings that are not answered yet. */
  private readonly pings = new Fifo<number>()
  private held: (() => void)[] | undefined
  private heldBytes = 0

  constructor(
    link: PacketLink,
    sid: ServerId,
    { isObserver, joinedWallMs, deadlineTick }: Joining,
  ) {
    this.link = link
    this.sid = sid
    this.isObserver = isObserver
    this.joinedWallMs = joinedWallMs
    this.deadlineTick = deadlineTick
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

  /** Whether it is in this state, or in one behind it. */
  hasReached(state: LearnerState): boolean {
    return ranks[this.current] >= ranks[state]
  }

  get isUpToDateVoter(): boolean {
    return !this.isObserver && this.hasReached('acknowledged')
  }

  // --- what it is sent -------------------------------------------------------------------------

  /** Holds back what is sent from now on. */
  hold(): void {
    this.held ??= []
  }

  /** Sends what was held back, in order. */
  release(): void {
    const { held } = this
    this.held = undefined
    this.heldBytes = 0
    for (const send of held ?? []) send()
  }

  /** Sends, in order behind what is held back. */
  tell(bytes: number, send: () => void): void {
    if (this.held === undefined) {
      send()
      return
    }
    this.held.push(send)
    this.heldBytes += bytes
  }

  sendUpToDate(): void {
    this.become('upToDate')
    this.link.send('upToDate', -1n)
    this.release()
  }

  /** Asks for a sign of life; before UPTODATE there is no answer. */
  ping(zxid: bigint, round: number): void {
    this.link.send('ping', zxid)
    if (this.hasReached('upToDate')) this.pings.push(round)
  }

  answeredPing(): void {
    this.answeredRound = this.pings.shift() ?? this.answeredRound
  }

  /** What it has not taken yet, without its history: that has bounds of its own. */
  get queuedBytes(): number {
    return this.heldBytes + (this.hasReached('acknowledged') ? this.link.unsentBytes : 0)
  }

  // --- for monitoring --------------------------------------------------------------------------

  /** Counts requests and packets from zero again. */
  resetCounts(): void {
    this.requests = this.link.packetsSent = this.link.packetsReceived = 0
  }

  get view(): LearnerView {
    const { sid, isObserver, link, joinedWallMs, requests, held } = this
    return {
      sid,
      isObserver,
      isSynced: this.hasReached('synchronising'),
      link,
      joinedWallMs,
      requests,
      held: held?.length ?? 0,
      heldBytes: this.heldBytes + link.unsentBytes,
    }
  }
}

interface Joining {
  readonly isObserver: boolean
  readonly joinedWallMs: number
  readonly deadlineTick: number
}
