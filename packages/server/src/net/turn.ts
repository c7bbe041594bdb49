import type { PeerBase } from '@zabra/core'
import type { IdlePoll } from './idle-poll.ts'

/** Something that collects what it has to send during a turn. */
export interface Flushable {
  flush(): void
}

/**
 * One turn of the event loop: everything that arrived has been handed to the peer, then each
 * connection gets one write and the log one batch.
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

  /** Something came from a client. */
  begin(): void {
    this.idlePoll.arrived(this.setTime())
  }

  /** Tells the peer what time it is. */
  setTime(): number {
    const nowMs = performance.now()
    this.peer.setTime(Math.floor(nowMs), Date.now())
    return nowMs
  }

  flushLater(socket: Flushable): void {
    this.dirty.push(socket)
    this.schedule()
  }

  /** The end of this turn comes right after all sockets that have something were read. */
  schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.end)
  }

  private readonly end = (): void => {
    this.isScheduled = false
    this.finish()
  }

  /** Ends the turn now. Other servers first: their logs take longer than ours. */
  finish(): void {
    this.flush()
    if (this.peer.hasBatch) this.onBatch()
  }

  /** Work that did not come from a socket, as a turn of its own. */
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
