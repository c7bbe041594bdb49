import type { CallOptions } from '@zabra/client'
import type { ItemStore } from './item-store.ts'
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
