import type { CallOptions, Client } from '@zabra/client'
import { ItemQueue } from './items/item-queue.ts'
import { nameById } from './items/item-names.ts'
import { ItemStore } from './items/item-store.ts'
import type { PutOptions, QueueOptions } from './queue.ts'

/**
 * A queue whose items have ids, by which they can be found and removed before anybody works on
 * them. Ids need not be unique. Otherwise it is like a Queue. The layout is that of Curator's
 * DistributedIdQueue, if that has `PATH/entries` as its path and `PATH/taken` as its lock path.
 *
 *     const mails = new IdQueue(client, '/mails', { codec: json<Mail>() })
 *     await mails.put(mail, 'order-17')
 *     await mails.remove('order-17') // 1, unless somebody was quicker
 */
export class IdQueue<T> extends ItemQueue<T> {
  constructor(client: Client, path: string, options: QueueOptions<T>) {
    super(new ItemStore(client, path, 'byId', options))
  }

  /**
   * Resolves when the item is in the queue.
   *
   *     await mails.put(mail, 'order-17')
   */
  async put(value: T, id: string, options: PutOptions = {}): Promise<void> {
    if (typeof id !== 'string') throw new TypeError(`an id is text, not ${String(id)}`)
    await this.store.put(value, nameById(id), options)
  }

  /**
   * Removes the items with this id that nobody works on; returns how many.
   *
   *     console.log(await mails.remove('order-17'))
   */
  remove(id: string, options: CallOptions = {}): Promise<number> {
    return this.store.remove(id, options)
  }

  /**
   * Whether an item with this id exists, even if somebody works on it.
   *
   *     if (!(await mails.has('order-17'))) await mails.put(mail, 'order-17')
   */
  has(id: string, options: CallOptions = {}): Promise<boolean> {
    return this.store.has(id, options)
  }
}
