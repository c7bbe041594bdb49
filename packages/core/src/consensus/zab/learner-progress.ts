import { Fifo } from '../../base/fifo.ts'
import { AckWatch } from './ack-watch.ts'
import type { PacketLink } from './links/packet-link.ts'
import type { ServerId } from '../../membership/quorum.ts'

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

/** A learner as its leader sees it, from its promise of the epoch until its connection ends. */
export class LearnerProgress {
  readonly link: PacketLink
  readonly sid: ServerId
  readonly isObserver: boolean
  readonly joinedWallMs: number
  readonly acks = new AckWatch()
  /** Gets live packets. Until it is up to date they wait. */
  isForwarding = false
  /** Everything it lacked is sent: from now on it must give signs of life. */
  isSent = false
  hasAckedNewLeader = false
  /** UPTODATE is sent: from here on each ping is answered. */
  isUpToDate = false
  /** The newest round of pings that it has answered. */
  answeredRound = 0
  /** The rounds of its pings that are not answered yet. */
  private readonly pings = new Fifo<number>()
  /** It has said so after UPTODATE. */
  isFollowing = false
  /** The end of the history it joined with. */
  history = 0n
  /** By this tick it must have been heard of again. */
  deadlineTick: number
  requests = 0
  /** How it is brought up, once that is decided. */
  plan: 'snap' | 'diff' | undefined
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

  get isUpToDateVoter(): boolean {
    return !this.isObserver && this.hasAckedNewLeader
  }

  /** What it is told from now on waits. */
  hold(): void {
    this.held ??= []
  }

  /** What has waited goes on its way, in order. */
  release(): void {
    const { held } = this
    this.held = undefined
    this.heldBytes = 0
    for (const send of held ?? []) send()
  }

  /** In order behind what is still being sent. */
  tell(bytes: number, send: () => void): void {
    if (this.held === undefined) {
      send()
      return
    }
    this.held.push(send)
    this.heldBytes += bytes
  }

  sendUpToDate(): void {
    this.link.send('upToDate', -1n)
    this.isUpToDate = true
    this.release()
  }

  /** Asks for a sign of life; before UPTODATE there is no answer. */
  ping(zxid: bigint, round: number): void {
    this.link.send('ping', zxid)
    if (this.isUpToDate) this.pings.push(round)
  }

  answeredPing(): void {
    this.answeredRound = this.pings.shift() ?? this.answeredRound
  }

  /** What it has not taken yet, without its history: that has bounds of its own. */
  get queuedBytes(): number {
    return this.heldBytes + (this.hasAckedNewLeader ? this.link.unsentBytes : 0)
  }

  /** Counts what is said from nothing again. */
  resetCounts(): void {
    this.requests = this.link.packetsSent = this.link.packetsReceived = 0
  }

  get view(): LearnerView {
    const { sid, isObserver, isForwarding, link, joinedWallMs, requests, held } = this
    return {
      sid,
      isObserver,
      isSynced: isForwarding,
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
