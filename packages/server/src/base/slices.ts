import { setImmediate as nextTurn } from 'node:timers/promises'

/** Every request of other clients can wait this long, once for each turn that it needs. */
const sliceMs = 1

/** Lets the server serve others between the slices of a long task. */
export class Slices {
  private readonly signal: AbortSignal | undefined
  private startedMs = performance.now()

  /** When the signal aborts, the task ends at the next pause. */
  constructor(signal?: AbortSignal) {
    this.signal = signal
  }

  /** Undefined while the slice has time left, so that awaiting it costs nothing. */
  readonly pause = (): Promise<void> | undefined =>
    performance.now() - this.startedMs < sliceMs ? undefined : this.next()

  private async next(): Promise<void> {
    this.signal?.throwIfAborted()
    await nextTurn()
    this.startedMs = performance.now()
  }
}
