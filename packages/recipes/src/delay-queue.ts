import type { Client } from '@zabra/client'
import { ItemQueue } from './items/item-queue.ts'
import { nameByTime } from './items/item-names.ts'
import { ItemStore } from './items/item-store.ts'
import type { PutOptions, QueueOptions } from './queue.ts'

export interface DelayOptions extends PutOptions {
  /** Time from now until the item may be delivered. */
  readonly delayMs?: number | undefined
  /** Earliest time of delivery, in milliseconds since 1970. */
  readonly dueMs?: number | undefined
}

/**
 * A queue that delivers items when they are due, in the order of their times. The clocks of
 * producers and consumers should agree. Otherwise it is like a Queue. The layout is that of
 * Curator's DistributedDelayQueue, if that has `PATH/entries` as its path and `PATH/taken` as its
 * lock path.
 *
 *     const reminders = new DelayQueue(client, '/reminders', { codec: json<Reminder>() })
 *     await reminders.put({ to: 'ann' }, { delayMs: 60_000 })
 */
export class DelayQueue<T> extends ItemQueue<T> {
  private readonly client: Client

  constructor(client: Client, path: string, options: QueueOptions<T>) {
    super(new ItemStore(client, path, 'byTime', options))
    this.client = client
  }

  /**
   * Resolves when the item is in the queue; without a time it is due at once.
   *
   *     await reminders.put({ to: 'ann' }, { dueMs: Date.parse('2030-01-01') })
   */
  async put(value: T, options: DelayOptions = {}): Promise<void> {
    const { delayMs = 0, dueMs, ...rest } = options
    const { host } = this.client
    const atMs = dueMs ?? (host.wallMs?.() ?? host.nowMs()) + delayMs
    if (!(atMs >= 0 && atMs < 1e15))
      throw new RangeError(`delayMs and dueMs are numbers of milliseconds, not ${atMs}`)
    await this.store.put(value, nameByTime(atMs), rest)
  }
}
