import {
  ConnectionLossError,
  isRefusal,
  makeGuid,
  SessionExpiredError,
  TransactionError,
  type CallOptions,
  type Client,
  type Codec,
  type Stat,
} from '@zabra/client'
import { childrenAndWait } from './bells.ts'
import { firstOf } from './first-of.ts'
import { deleteOwn, LostError, type HoldOptions, type LossPolicy } from './held.ts'
import { limited, orAborted, underAll } from './limits.ts'
import { Lock } from './lock.ts'
import { persist } from './node.ts'
import { Outbox } from './outbox.ts'
import { ensureParent, join } from './parents.ts'
import { QueueItem } from './queue-item.ts'
import { compareSequence } from './sequence.ts'
import { Serial } from './serial.ts'
import { SessionNode, type OwnNode } from './session-node.ts'
import { Witness } from './witness.ts'

export type Order = 'inOrder' | 'byPriority'

interface Mark {
  readonly stat: Stat
  readonly consumer: OwnNode
}

interface ItemName {
  readonly name: string
  readonly priority: number
  readonly sequence: number
}

/**
 * Items and who works on them, as kazoo's LockingQueue lays them out: `entries` has the items,
 * `taken` an ephemeral node of the same name for each that somebody works on.
 */
export class ItemStore<T> {
  private readonly client: Client
  private readonly entries: string
  private readonly taken: string
  private readonly order: Order
  private readonly codec: Codec<T>
  private readonly lostOn: LossPolicy
  private readonly id: string
  private readonly outbox: Outbox
  /** Who waits: only the first in line watches for items. */
  private readonly line: Lock
  private readonly claims: Witness
  private readonly claiming = new Serial()
  /** Tells the session in which an item was taken from later ones. */
  private readonly consumer: SessionNode
  private itemsOut = 0
  private isClosed = false
  /** Listed and not tried yet. */
  private candidates: string[] = []

  constructor(
    client: Client,
    path: string,
    order: Order,
    { codec, lostOn = 'suspended' }: HoldOptions & { readonly codec: Codec<T> },
  ) {
    this.client = client.patient
    this.entries = join(path, 'entries')
    this.taken = join(path, 'taken')
    this.order = order
    this.codec = codec
    this.lostOn = lostOn
    this.id = makeGuid(() => client.host.random())
    this.outbox = new Outbox(client, this.entries, join(path, 'clients'))
    this.line = new Lock(client, join(path, 'line'))
    this.claims = new Witness(client, join(path, 'clients'))
    this.consumer = new SessionNode(client, join(path, 'clients'), 'consumer')
  }

  put(
    value: T,
    priority: number,
    options: CallOptions & { readonly ephemeral?: boolean | undefined },
  ): Promise<void> {
    const post = async (signal: AbortSignal): Promise<void> => {
      const data = this.codec.encode(value)
      const name = `entry-${String(priority).padStart(3, '0')}-`
      const { ephemeral = false } = options
      await orAborted(this.outbox.post({ name, data, ephemeral, signal }), signal)
    }
    return limited(this.client, options, post, true)
  }

  tryTake(options: CallOptions): Promise<QueueItem<T> | undefined> {
    return limited(this.client, options, (signal) => this.takeFirst(signal))
  }

  take(options: CallOptions): Promise<QueueItem<T>> {
    return limited(this.client, options, async (signal) => {
      for (;;) {
        const item = (await this.takeFirst(signal)) ?? (await this.waitInLine(signal))
        if (item !== undefined) return item
      }
    })
  }

  async size(options: CallOptions): Promise<number> {
    const stat = await this.client.exists(this.entries, options)
    return stat?.numChildren ?? 0
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.outbox.close()
    await this.claiming.run(() => this.claims.close())
    await this.closeConsumer()
  }

  /** Items that are still worked on need it. */
  private async closeConsumer(): Promise<void> {
    if (this.isClosed && this.itemsOut === 0) await this.consumer.close()
  }

  // --- waiting ---------------------------------------------------------------------------------

  /** Undefined where the place in the line was lost. */
  private async waitInLine(signal: AbortSignal): Promise<QueueItem<T> | undefined> {
    const place = await this.line.acquire({ signal, requeue: true, lostOn: 'expired' })
    try {
      return await underAll([signal, place.signal], async (either) => {
        for (;;) {
          const item = await this.takeFirst(either)
          if (item !== undefined) return item
          await this.untilChanged(either)
        }
      })
    } catch (error) {
      if (signal.aborted || !place.signal.aborted) throw error
      return undefined
    } finally {
      // Nobody needs to wait for this but the next in line.
      place.release().catch(() => {})
    }
  }

  /** Until there may be an item that nobody works on. */
  private async untilChanged(signal: AbortSignal): Promise<void> {
    const [entries, taken] = await this.listBoth(signal)
    if (this.free(entries, taken).length > 0) return
    const wait = (folder: string, before: readonly string[], either: AbortSignal) =>
      childrenAndWait(this.client, folder, either, (now) => isSame(now, before))
    try {
      await firstOf(signal, (either) => [
        wait(this.entries, entries, either),
        wait(this.taken, taken, either),
      ])
    } catch (error) {
      const isTemporary = error instanceof ConnectionLossError || isRefusal(error, 'noNode')
      if (!isTemporary) throw error
    }
  }

  // --- taking ----------------------------------------------------------------------------------

  /** Takes the first item that nobody works on. */
  private async takeFirst(signal: AbortSignal): Promise<QueueItem<T> | undefined> {
    if (this.order === 'inOrder') {
      const item = await this.takeOneOf(this.candidates, signal)
      if (item !== undefined) return item
    }
    for (;;) {
      const [entries, taken] = await this.listBoth(signal)
      const candidates = this.free(entries, taken)
      if (candidates.length === 0) return undefined
      // What is listed now stays right for later, unless something may come before it.
      if (this.order === 'inOrder') this.candidates = candidates
      const item = await this.takeOneOf(candidates, signal)
      if (item !== undefined) return item
    }
  }

  private async takeOneOf(
    candidates: string[],
    signal: AbortSignal,
  ): Promise<QueueItem<T> | undefined> {
    for (let name = candidates.shift(); name !== undefined; name = candidates.shift()) {
      const item = await this.takeThis(name, signal)
      if (item !== undefined) return item
    }
    return undefined
  }

  /** Where the caller gives up, the item is given back as soon as it is known to be taken. */
  private async takeThis(name: string, signal: AbortSignal): Promise<QueueItem<T> | undefined> {
    const taking = this.claiming.run(async () => {
      if (signal.aborted) return undefined
      return this.claim(name)
    })
    try {
      return await orAborted(taking, signal)
    } catch (error) {
      // It comes before what was listed with it.
      const listAnew = (): void => void (this.candidates = [])
      taking.then((item) => item?.release()).then(listAnew, listAnew)
      if (error instanceof SessionExpiredError && !signal.aborted) return undefined
      throw error
    }
  }

  private async claim(name: string): Promise<QueueItem<T> | undefined> {
    const { client, codec } = this
    const entry = join(this.entries, name)
    const taken = join(this.taken, name)
    const mark = await this.mark(entry, taken)
    if (mark === undefined) return undefined
    this.itemsOut++
    const onOver = (): Promise<void> => {
      this.itemsOut--
      return this.closeConsumer()
    }
    const item = new QueueItem(client, { entry, taken, codec, onOver, ...mark })
    try {
      const { data } = await persist(client, item.signal, () => client.get(entry))
      return item.filled(data, this.lostOn)
    } catch (error) {
      await item.release()
      // An ephemeral item that went with its producer, or a session that is over.
      if (isRefusal(error, 'noNode') || error instanceof LostError) return undefined
      throw error
    }
  }

  /** Makes the node that says that somebody works on it; undefined where somebody does already. */
  private async mark(entry: string, taken: string): Promise<Mark | undefined> {
    const { client, id } = this
    for (;;) {
      const consumer = await this.consumer.present()
      try {
        const { results } = await this.claims.commit((transaction) =>
          transaction.check(consumer.path).check(entry).create(taken, id, { ephemeral: true }),
        )
        const stat =
          results?.[2].stat ?? (await persist(client, undefined, () => client.exists(taken)))
        if (stat === undefined) return undefined
        if (stat.ephemeralOwner === consumer.session) return { stat, consumer }
        // The session has changed meanwhile, and the server still has the consumer of the old one.
        await deleteOwn(client, taken, stat.ephemeralOwner)
        return undefined
      } catch (error) {
        if (!(error instanceof TransactionError)) throw error
        if (error.path === entry || error.reason === 'nodeExists') return undefined
        if (error.path === taken) await ensureParent(client, this.taken)
        else if (error.path === consumer.path) this.consumer.forget(consumer)
        else throw error
      }
    }
  }

  // --- listing ---------------------------------------------------------------------------------

  private listBoth(signal: AbortSignal): Promise<[string[], string[]]> {
    return Promise.all([this.list(this.entries, signal), this.list(this.taken, signal)])
  }

  private async list(folder: string, signal: AbortSignal | undefined): Promise<string[]> {
    for (;;) {
      try {
        return await persist(this.client, signal, () => this.client.children(folder, { signal }))
      } catch (error) {
        if (!isRefusal(error, 'noNode')) throw error
      }
      await ensureParent(this.client, folder, { signal })
    }
  }

  private free(entries: readonly string[], taken: readonly string[]): string[] {
    const isTaken = new Set(taken)
    return entries
      .filter((name) => !isTaken.has(name))
      .flatMap((name) => parse(name) ?? [])
      .toSorted((a, b) => a.priority - b.priority || compareSequence(a.sequence, b.sequence))
      .map(({ name }) => name)
  }
}

function parse(name: string): ItemName | undefined {
  const match = /^entry-(\d{3})-(-?\d{9,10})$/.exec(name)
  if (match === null) return undefined
  return { name, priority: Number(match[1]), sequence: Number(match[2]) }
}

function isSame(now: readonly string[], before: readonly string[]): boolean {
  if (now.length !== before.length) return false
  const known = new Set(before)
  return now.every((name) => known.has(name))
}
