import type { CallOptions, Client, Codec } from '@zabra/client'
import type { HoldOptions } from './holding/held.ts'
import { ItemQueue } from './items/item-queue.ts'
import { nameByPriority } from './items/item-names.ts'
import { ItemStore } from './items/item-store.ts'

export interface QueueOptions<T> extends HoldOptions {
  readonly codec: Codec<T>
}

export interface PutOptions extends CallOptions {
  /** The item is deleted with this session, unless it is taken before. */
  readonly ephemeral?: boolean | undefined
}

/**
 * A first-in first-out queue that gives each item to one consumer at a time. An item stays until it
 * is completed: if its consumer crashes, it is delivered again.
 *
 *     await using queue = new Queue(client, '/jobs', { codec: text })
 *     await queue.put('resize image 17')
 *     for await (const job of queue.items()) {
 *       await work(job.value)
 *       await job.complete()
 *     }
 */
export class Queue<T> extends ItemQueue<T> {
  constructor(client: Client, path: string, options: QueueOptions<T>) {
    super(new ItemStore(client, path, 'inOrder', options))
  }

  /**
   * Resolves when the item is in the queue; it is there once, even if a reply was lost.
   *
   *     await queue.put('resize image 17')
   */
  put(value: T, options: PutOptions = {}): Promise<void> {
    return this.store.put(value, nameByPriority(), options)
  }
}
