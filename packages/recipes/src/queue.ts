import type { CallOptions, Client, Codec } from '@zabra/client'
import type { HoldOptions } from './held.ts'
import { ItemStore } from './item-store.ts'
import type { QueueItem } from './queue-item.ts'

export interface QueueOptions<T> extends HoldOptions {
  readonly codec: Codec<T>
}

export interface PutOptions extends CallOptions {
  /** The item goes with this session, unless it is taken out before. */
  readonly ephemeral?: boolean | undefined
}

/** In the middle, as kazoo has it. */
const plainPriority = 100

/**
 * A queue: what is put in first is handed out first, each item to one consumer at a time. An item
 * stays until it is completed: where its consumer crashes it is handed out again.
 */
export class Queue<T> implements AsyncDisposable {
  private readonly store: ItemStore<T>

  constructor(client: Client, path: string, options: QueueOptions<T>) {
    this.store = new ItemStore(client, path, 'inOrder', options)
  }

  /** Resolves when the item is in the queue; there it is once, also where a reply was lost. */
  put(value: T, options: PutOptions = {}): Promise<void> {
    return this.store.put(value, plainPriority, options)
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
