import type { CallOptions } from '@zabra/client'
import type { ItemStore } from './item-store.ts'
import { ItemTurns } from './item-turns.ts'
import type { QueueItem } from './queue-item.ts'

/** What queues have in common: how items are taken out. */
export abstract class ItemQueue<T> implements AsyncDisposable {
  protected readonly store: ItemStore<T>

  protected constructor(store: ItemStore<T>) {
    this.store = store
  }

  /** Waits for an item. Who waits stands in line: a new item wakes the first only. */
  take(options: CallOptions = {}): Promise<QueueItem<T>> {
    return this.store.take(options)
  }

  /** Undefined where there is no item that nobody works on. */
  tryTake(options: CallOptions = {}): Promise<QueueItem<T> | undefined> {
    return this.store.tryTake(options)
  }

  /**
   * Takes one item after another, and waits where there is none. Whoever reads completes them: one
   * that was not completed is given back when the next is asked for, or the iteration ends.
   */
  items({ signal }: Pick<CallOptions, 'signal'> = {}): AsyncIterableIterator<
    QueueItem<T>,
    undefined
  > {
    return new ItemTurns((options) => this.take(options), signal)
  }

  /** How many items there are, with those that somebody works on. */
  size(options: CallOptions = {}): Promise<number> {
    return this.store.size(options)
  }

  /** Takes away what this object keeps on the tree besides items; what is held stays so. */
  close(): Promise<void> {
    return this.store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
