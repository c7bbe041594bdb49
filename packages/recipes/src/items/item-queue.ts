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

  /** Waits for an item. Waiters form a line: a new item wakes only the first. */
  take(options: CallOptions = {}): Promise<QueueItem<T>> {
    return this.store.take(options)
  }

  /** Undefined if there is no item that nobody works on. */
  tryTake(options: CallOptions = {}): Promise<QueueItem<T> | undefined> {
    return this.store.tryTake(options)
  }

  /**
   * Takes one item after another, and waits while there is none. The reader completes each item:
   * one that was not completed is released when the next is requested, or when the iteration ends.
   */
  items({ signal }: Pick<CallOptions, 'signal'> = {}): AsyncIterableIterator<
    QueueItem<T>,
    undefined
  > {
    return new ItemTurns((options) => this.take(options), signal)
  }

  /** The number of items, including those that somebody works on. */
  size(options: CallOptions = {}): Promise<number> {
    return this.store.size(options)
  }

  /** Removes the nodes of this object; items and held items stay. */
  close(): Promise<void> {
    return this.store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
