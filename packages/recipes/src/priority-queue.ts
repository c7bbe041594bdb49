import type { CallOptions, Client } from '@zabra/client'
import { ItemStore } from './item-store.ts'
import type { PutOptions, QueueOptions } from './queue.ts'
import type { QueueItem } from './queue-item.ts'

/**
 * A queue whose items have priorities, from 0, which is handed out first, to 999. Items of the same
 * priority are handed out in their order. In all else it is like a Queue.
 */
export class PriorityQueue<T> implements AsyncDisposable {
  private readonly store: ItemStore<T>

  constructor(client: Client, path: string, options: QueueOptions<T>) {
    this.store = new ItemStore(client, path, 'byPriority', options)
  }

  async put(value: T, priority: number, options: PutOptions = {}): Promise<void> {
    if (!Number.isInteger(priority) || priority < 0 || priority > 999)
      throw new RangeError(`a priority is a whole number from 0 to 999, not ${priority}`)
    await this.store.put(value, priority, options)
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
