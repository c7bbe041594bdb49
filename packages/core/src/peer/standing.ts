import type { Ending } from './roles/ending.ts'

/** How long to wait at first before joining again with a full disk; doubled each time. */
const roomPauseMs = 500
const roomPauseMsMax = 8000

/** What a server remembers from one role to the next. */
export class Standing {
  private worth: 'whole' | 'uncuttable' | 'lost'
  private nextRoomPauseMs = roomPauseMs
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

  /** This server is up to date with its leader, or leads. */
  serves(): void {
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
