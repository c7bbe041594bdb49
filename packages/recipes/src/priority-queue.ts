import type { Client } from '@zabra/client'
import { ItemQueue } from './items/item-queue.ts'
import { nameByPriority } from './items/item-names.ts'
import { ItemStore } from './items/item-store.ts'
import type { PutOptions, QueueOptions } from './queue.ts'

/**
 * A queue whose items have priorities from 0, delivered first, to 999. Items of the same priority
 * are delivered in order. Otherwise it is like a Queue.
 *
 *     await using queue = new PriorityQueue(client, '/jobs', { codec: text })
 *     await queue.put('urgent', 0)
 *     for await (const job of queue.items()) {
 *       await work(job.value)
 *       await job.complete()
 *     }
 */
export class PriorityQueue<T> extends ItemQueue<T> {
  constructor(client: Client, path: string, options: QueueOptions<T>) {
    super(new ItemStore(client, path, 'byPriority', options))
  }

  /**
   * Resolves when the item is in the queue.
   *
   *     await urgent.put('resize image 17', 0)
   */
  async put(value: T, priority: number, options: PutOptions = {}): Promise<void> {
    if (!Number.isInteger(priority) || priority < 0 || priority > 999)
      throw new RangeError(`a priority is a whole number from 0 to 999, not ${priority}`)
    await this.store.put(value, nameByPriority(priority), options)
  }
}
