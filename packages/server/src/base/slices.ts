import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 4

/** Lets the server serve others between pieces of a long piece of work. */
export class Slices {
  private readonly signal: AbortSignal | undefined
  private startedMs = performance.now()

  /** When the signal aborts, the work ends at the next pause. */
  constructor(signal?: AbortSignal) {
    this.signal = signal
  }

  /** Undefined while there is time left: awaiting it costs nothing then. */
  readonly pause = (): Promise<void> | undefined =>
    performance.now() - this.startedMs < sliceMs ? undefined : this.next()

  private async next(): Promise<void> {
    this.signal?.throwIfAborted()
    await nextTurn()
    this.startedMs = performance.now()
  }
}
