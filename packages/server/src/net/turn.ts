import type { PeerBase } from '@zabra/core'
import type { IdlePoll } from './idle-poll.ts'

/** Something that collects bytes to send during a turn. */
export interface Flushable {
  flush(): void
}

/**
 * One turn of the event loop: after everything that arrived was handed to the peer, each connection
 * gets one write and the log one batch.
 */
export class Turn {
  private readonly peer: PeerBase
  private readonly onBatch: () => void
  private readonly idlePoll: IdlePoll
  private dirty: Flushable[] = []
  private isScheduled = false

  constructor(peer: PeerBase, onBatch: () => void, idlePoll: IdlePoll) {
    this.peer = peer
    this.onBatch = onBatch
    this.idlePoll = idlePoll
  }

  /** Call when a client has sent something. */
  begin(): void {
    this.idlePoll.arrived(this.setTime())
  }

  /** Updates the peer's clock. */
  setTime(): number {
    const nowMs = performance.now()
    this.peer.setTime(Math.floor(nowMs), Date.now())
    return nowMs
  }

  flushLater(socket: Flushable): void {
    this.dirty.push(socket)
    this.schedule()
  }

  /** Runs right after all readable sockets were read. */
  schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.end)
  }

  private readonly end = (): void => {
    this.isScheduled = false
    this.finish()
  }

  /**
   * Ends the turn now. Other servers get their bytes first: their log syncs take longer than our
   * own work.
   */
  finish(): void {
    this.flush()
    if (this.peer.hasBatch) this.onBatch()
  }

  /** Runs work that did not come from a socket, as a turn of its own. */
  run(work: () => void): void {
    this.setTime()
    work()
    this.flush()
    if (this.peer.hasBatch) this.schedule()
  }

  flush(): void {
    const { dirty } = this
    this.dirty = []
    for (const socket of dirty) socket.flush()
  }
}
