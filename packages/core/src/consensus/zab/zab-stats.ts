import { Histogram, Summary } from '../../base/statistics.ts'
import type { ServerState } from '@zabra/protocol'
import type { ZabEvent } from './options.ts'
import type { ServerId } from '../../membership/quorum.ts'

/** The progress of a server with its leader, or with its followers. */
export type ZabPhase = 'election' | 'discovery' | 'synchronization' | 'broadcast'

/** The offset of the time in the header of a transaction. */
const timeAt = 20
const rotateEveryMs = 30_000

/** The measurements of a server of an ensemble, in all its roles. Times are milliseconds. */
export class ZabStats {
  phase: ZabPhase = 'election'
  /** The leader, once it is known. */
  leader: ServerId | undefined
  /** The server that this one follows: the leader, or the follower that serves this observer. */
  master: ServerId | undefined
  lookings = 0
  diffsSent = 0
  snapshotsSent = 0
  proposals = 0
  proposalsReceived = 0
  commitsReceived = 0
  revalidations = 0
  desertions = 0
  /** Sizes of proposals made here; -1 before the first. */
  readonly proposalBytes = { last: -1, min: -1, max: -1 }
  readonly electionMs = new Summary()
  readonly unavailableMs = new Summary()
  readonly leaderUnavailableMs = new Summary()
  readonly followerSyncMs = new Summary()
  readonly observerSyncMs = new Summary()
  /** From the making of a transaction until a quorum has it. */
  readonly quorumAckMs = new Histogram()
  /** Until it comes here; until our log has it, of the first in a batch; until it is committed. */
  readonly proposalMs = new Histogram()
  readonly ackMs = new Histogram()
  readonly commitMs = new Histogram()
  /** Until it is applied here. */
  readonly propagationMs = new Histogram()
  private unavailableSinceMs: number | undefined
  private lookingSinceMs = 0
  private joiningSinceMs = 0
  private unloggedSince: number | undefined
  private rotatedMs = 0

  /** An event; `state` is the state of this server at that time. */
  note(event: ZabEvent, state: ServerState, nowMs: number): void {
    switch (event.type) {
      case 'roleEnded':
        this.phase = 'election'
        this.leader = undefined
        this.master = undefined
        return
      case 'looking':
        this.lookings++
        this.lookingSinceMs = nowMs
        this.unavailableSinceMs ??= nowMs
        return
      case 'elected':
        this.leader = event.leader
        this.phase = 'discovery'
        this.joiningSinceMs = nowMs
        this.electionMs.add(nowMs - this.lookingSinceMs)
        return
      case 'takingOver':
        this.phase = 'synchronization'
        return
      case 'synchronizing':
        if (this.phase !== 'broadcast') this.phase = 'synchronization'
        if (event.plan === 'snap') this.snapshotsSent++
        else this.diffsSent++
        return
      case 'leading':
        if (this.unavailableSinceMs !== undefined) {
          this.leaderUnavailableMs.add(nowMs - this.unavailableSinceMs)
        }
        this.available(nowMs)
        return
      case 'following':
        this.master = event.leader
        this.syncMs(state).add(nowMs - this.joiningSinceMs)
        this.available(nowMs)
        return
      default:
    }
  }

  private syncMs(state: ServerState): Summary {
    return state === 'observing' ? this.observerSyncMs : this.followerSyncMs
  }

  private available(nowMs: number): void {
    this.phase = 'broadcast'
    if (this.unavailableSinceMs === undefined) return
    this.unavailableMs.add(nowMs - this.unavailableSinceMs)
    this.unavailableSinceMs = undefined
  }

  /** This leader proposes a transaction of this size. */
  proposed(bytes: number, wallMs: number): void {
    this.proposals++
    this.unloggedSince ??= wallMs
    const { proposalBytes } = this
    proposalBytes.last = bytes
    if (bytes > proposalBytes.max) proposalBytes.max = bytes
    if (bytes < proposalBytes.min || proposalBytes.min < 0) proposalBytes.min = bytes
  }

  /** The leader has proposed a transaction; an observer gets only committed ones. */
  received(payload: Uint8Array, state: ServerState, wallMs: number): void {
    const made = madeAt(payload)
    this.unloggedSince ??= made
    if (state === 'observing') return
    this.proposalsReceived++
    this.proposalMs.add(Math.max(0, wallMs - made))
  }

  /** The log has a batch. */
  logged(wallMs: number): void {
    if (this.unloggedSince === undefined) return
    this.ackMs.add(Math.max(0, wallMs - this.unloggedSince))
    this.unloggedSince = undefined
  }

  committed(payload: Uint8Array, state: ServerState, wallMs: number): void {
    if (this.phase !== 'broadcast') return
    const sinceMade = Math.max(0, wallMs - madeAt(payload))
    this.propagationMs.add(sinceMade)
    if (state === 'leading') {
      this.quorumAckMs.add(sinceMade)
    } else {
      this.commitsReceived++
      this.commitMs.add(sinceMade)
    }
  }

  /** Percentiles are about the last half minute to minute. */
  tick(nowMs: number): void {
    if (nowMs - this.rotatedMs < rotateEveryMs) return
    this.rotatedMs = nowMs
    const { quorumAckMs, proposalMs, ackMs, commitMs, propagationMs } = this
    for (const measured of [quorumAckMs, proposalMs, ackMs, commitMs, propagationMs]) {
      measured.rotate()
    }
  }
}

function madeAt(payload: Uint8Array): number {
  const view = new DataView(payload.buffer, payload.byteOffset + timeAt, 8)
  return view.getInt32(0) * 2 ** 32 + view.getUint32(4)
}
