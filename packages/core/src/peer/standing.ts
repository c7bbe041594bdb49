import type { Remedy } from '../consensus/zab/options.ts'
import type { Ending } from './roles/ending.ts'

/** How long to wait at first before joining again with a full disk; doubled each time. */
const roomPauseMs = 500
const roomPauseMsMax = 8000
/** After this time without a difference the remedies are tried again from the first one. */
const calmMs = 3_600_000
/**
 * The steps for a tree that differs, one after the other. Another memory of the same disk is
 * enough if a bit has flipped in memory. A snapshot may have been taken of it before. If even the
 * leader's whole tree has another digest here, the digests are computed differently, and to leave
 * again and again would be worse than to go on.
 */
const remedies = ['reload', 'takeEverything'] as const

/** The state that a server keeps from one role to the next. */
export class Standing {
  private worth: 'whole' | 'uncuttable' | 'differing' | 'lost'
  private nextRoomPauseMs = roomPauseMs
  private remediesTried = 0
  private lastDifferedMs = -Infinity
  /** The files of a tree that differed are kept when the leader's replaces them. */
  keepsOldFiles = false
  /** How the last role ended that this server had; undefined before the first. */
  lastEnding: Ending | undefined

  constructor(lacksData: boolean) {
    this.worth = lacksData ? 'lost' : 'whole'
  }

  /** Nothing was found where data should be: what this server holds does not count. */
  get lacksData(): boolean {
    return this.worth === 'lost'
  }

  /** The leader must send its whole database, because what this server has cannot be cut to fit. */
  get wantsEverything(): boolean {
    return this.worth !== 'whole'
  }

  /** Cutting the log to where the leader wanted it has failed. */
  truncateFailed(): void {
    if (this.worth === 'whole') this.worth = 'uncuttable'
  }

  /** The tree differs from that of the others: what to do about it. */
  treeDiffers(nowMs: number): Remedy {
    if (nowMs - this.lastDifferedMs > calmMs) this.remediesTried = 0
    this.lastDifferedMs = nowMs
    return remedies[this.remediesTried++] ?? 'none'
  }

  /** The tree on this server's disk differs. Its log is right, so it still counts. */
  asksForEverything(): void {
    this.keepsOldFiles = true
    if (this.worth === 'whole') this.worth = 'differing'
  }

  /** The same, and other servers, which are a quorum, have what counts. */
  treeIsWorthless(): void {
    this.keepsOldFiles = true
    this.worth = 'lost'
  }

  /** This server is up to date with its leader, or leads. */
  serves(): void {
    this.keepsOldFiles = false
    this.worth = 'whole'
    this.nextRoomPauseMs = roomPauseMs
  }

  /** How long to wait for room on the disk before trying to join again. */
  takeRoomPauseMs(): number {
    const pauseMs = this.nextRoomPauseMs
    this.nextRoomPauseMs = Math.min(2 * pauseMs, roomPauseMsMax)
    return pauseMs
  }
}
