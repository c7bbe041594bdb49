import type { CallOptions } from '@zabra/client'
import { underAll } from '../waiting/limits.ts'
import type { QueueItem } from './queue-item.ts'

/**
 * Delivers one item after another. Each belongs to the reader until it requests the next one or
 * ends the iteration; then it is released, unless it was completed.
 */
export class ItemTurns<T>
  implements AsyncIterableIterator<QueueItem<T>, undefined>, AsyncDisposable
{
  private readonly take: (options: CallOptions) => Promise<QueueItem<T>>
  private readonly turns: AsyncGenerator<QueueItem<T>, undefined, undefined>
  private readonly leaving = new AbortController()

  constructor(take: (options: CallOptions) => Promise<QueueItem<T>>, signal?: AbortSignal) {
    this.take = take
    const { leaving } = this
    this.turns = this.run(signal === undefined ? [leaving.signal] : [leaving.signal, signal])
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<QueueItem<T>, undefined>> {
    return this.turns.next()
  }

  /** Ends the iteration, also for waiters; resolves when the last item is released. */
  return(): Promise<IteratorResult<QueueItem<T>, undefined>> {
    this.leaving.abort(new Error('the iteration has ended'))
    return this.turns.return(undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  private async *run(
    signals: readonly AbortSignal[],
  ): AsyncGenerator<QueueItem<T>, undefined, undefined> {
    for (;;) {
      const taken = await underAll(signals, (signal) => this.take({ signal })).catch(
        (error: unknown) => {
          if (this.leaving.signal.aborted) return undefined
          throw error
        },
      )
      if (taken === undefined) return undefined
      await using item = taken
      yield item
    }
  }
}
