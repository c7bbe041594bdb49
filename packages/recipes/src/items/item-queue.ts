import type { CallOptions } from '@zabra/client'
import type { ItemStore } from './item-store.ts'
import { ItemTurns } from './item-turns.ts'
import type { QueueItem } from './queue-item.ts'

/** The consuming side, which all queues share. */
export abstract class ItemQueue<T> implements AsyncDisposable {
  protected readonly store: ItemStore<T>

  protected constructor(store: ItemStore<T>) {
    this.store = store
  }

  /**
   * Waits for an item. Waiters form a line: a new item wakes only the first.
   *
   *     await using job = await queue.take({ timeoutMs: 10_000 })
   *     await work(job.value)
   *     await job.complete()
   */
  take(options: CallOptions = {}): Promise<QueueItem<T>> {
    return this.store.take(options)
  }

  /**
   * Undefined if there is no item that nobody works on.
   *
   *     const job = await queue.tryTake()
   *     if (job === undefined) console.log('nothing to do')
   */
  tryTake(options: CallOptions = {}): Promise<QueueItem<T> | undefined> {
    return this.store.tryTake(options)
  }

  /**
   * Takes one item after another, and waits while there is none. The reader completes each item:
   * one that was not completed is released when the next is requested, or when the iteration ends.
   *
   *     for await (const job of queue.items({ signal })) {
   *       await work(job.value)
   *       await job.complete()
   *     }
   */
  items({ signal }: Pick<CallOptions, 'signal'> = {}): AsyncIterableIterator<
    QueueItem<T>,
    undefined
  > {
    return new ItemTurns((options) => this.take(options), signal)
  }

  /**
   * The number of items, including those that somebody works on.
   *
   *     console.log(await queue.size())
   */
  size(options: CallOptions = {}): Promise<number> {
    return this.store.size(options)
  }

  /**
   * Removes the nodes of this object; items and held items stay.
   *
   *     await queue.close() // or: await using queue = new Queue(...)
   */
  close(): Promise<void> {
    return this.store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
