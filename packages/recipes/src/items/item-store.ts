import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  SessionExpiredError,
  text,
  type CallOptions,
  type Client,
  type Codec,
} from '@zabra/client'
import { checkPath, makeGuid, pause } from '@zabra/client/internal'
import { childrenAndWait } from '../waiting/until-changed.ts'
import { firstOf } from '../waiting/first-of.ts'
import { LostError, policyOf, type HoldOptions, type LossPolicy } from '../holding/held.ts'
import { limited, orAborted, underAll } from '../waiting/limits.ts'
import { checkedOptions, holdNames } from '../turns/turn.ts'
import { lockLine, TurnLock } from '../turns/turn-lock.ts'
import { persist, readNode } from '../nodes/node.ts'
import { Outbox } from './outbox.ts'
import { curatorItem } from './curator-items.ts'
import { parseName, type ItemName, type Order } from './item-names.ts'
import { ensureParent } from '../nodes/parents.ts'
import { QueueItem, type Taking } from './queue-item.ts'
import { compareSequence, sequenceMax } from '../nodes/sequence.ts'
import { Serial } from '../waiting/serial.ts'
import { Witness } from '../nodes/witness.ts'
import { codecOption } from '../nodes/recipe-options.ts'

/**
 * Items and their consumers, in the layout of kazoo's LockingQueue: `entries` has the items,
 * `taken` an ephemeral node of the same name for each item that somebody works on. Curator's queues
 * do the same in two folders that they are given, with other names of items.
 */
export class ItemStore<T> {
  private readonly client: Client
  private readonly path: string
  private readonly entries: string
  private readonly taken: string
  private readonly clients: string
  private readonly order: Order
  private readonly codec: Codec<T>
  private readonly lostOn: LossPolicy
  private readonly id: string
  private readonly outbox: Outbox
  /** The line of waiters: only the first one watches for items. */
  private readonly line: TurnLock
  private readonly claims: Witness
  private readonly claiming = new Serial()
  /** Listed and not tried yet. */
  private candidates: string[] = []
  /** Zxids of items whose numbers do not tell their order, and whose names never come again. */
  private czxids: ReadonlyMap<string, bigint> = new Map()

  constructor(
    client: Client,
    path: string,
    order: Order,
    options: Partial<HoldOptions & { readonly codec: Codec<T> }> = {},
  ) {
    const codec = codecOption('a queue', options, holdNames)
    this.path = checkPath(path)
    this.client = client.patient
    this.entries = joinPath(path, 'entries')
    this.taken = joinPath(path, 'taken')
    this.order = order
    this.codec = order === 'byTime' || order === 'byId' ? curatorItem(codec) : codec
    this.lostOn = policyOf(options)
    this.id = makeGuid(() => client.host.random())
    this.clients = joinPath(path, 'clients')
    this.outbox = new Outbox(client, this.entries, this.clients)
    this.line = new TurnLock(
      client,
      lockLine(joinPath(path, 'line')),
      checkedOptions(client, 'Queue', {}),
    )
    this.claims = new Witness(client, this.clients)
  }

  /** A number is appended to the name: see `item-names.ts`. */
  put(
    value: T,
    name: string,
    options: CallOptions & { readonly ephemeral?: boolean | undefined },
  ): Promise<void> {
    const post = async (signal: AbortSignal): Promise<void> => {
      const data = this.codec.encode(value)
      const { ephemeral = false } = options
      await orAborted(this.outbox.post({ name, data, ephemeral, signal }), signal)
    }
    const subject = { path: this.path, what: 'not put', names: { ephemeral: true } as const }
    return limited(this.client, options, post, true, subject)
  }

  tryTake(options: CallOptions): Promise<QueueItem<T> | undefined> {
    const { client, path } = this
    return limited(client, options, (signal) => this.takeFirst(signal), false, { path })
  }

  take(options: CallOptions): Promise<QueueItem<T>> {
    const wait = async (signal: AbortSignal): Promise<QueueItem<T>> => {
      for (;;) {
        const item = (await this.takeFirst(signal)) ?? (await this.waitInLine(signal))
        if (item !== undefined) return item
      }
    }
    return limited(this.client, options, wait, false, { path: this.path, what: 'no item' })
  }

  async size(options: CallOptions): Promise<number> {
    const stat = await this.client.exists(this.entries, options)
    return stat?.numChildren ?? 0
  }

  async close(): Promise<void> {
    await this.outbox.close()
    await this.claiming.run(() => this.claims.close())
  }

  // --- waiting -----------------------------------------------------------------------------------

  /** Undefined if the place in the line was lost. */
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
      // Only the next in line waits for this.
      place.release().catch(() => {})
    }
  }

  /** Waits until there may be an item that nobody works on. */
  private async untilChanged(signal: AbortSignal): Promise<void> {
    const [entries, taken] = await this.listBoth(signal)
    const free = this.freeAmong(entries, taken)
    if (this.dueAmong(free).length > 0) return
    const wait = (folder: string, before: readonly string[], either: AbortSignal) =>
      childrenAndWait(this.client, folder, either, (now) => isSame(now, before))
    try {
      await firstOf(signal, (either) => [
        wait(this.entries, entries, either),
        wait(this.taken, taken, either),
        ...this.untilDue(free, either),
      ])
    } catch (error) {
      const isTemporary = error instanceof ConnectionLossError || isRefusal(error, 'noNode')
      if (!isTemporary) throw error
    }
  }

  /** An item never comes before one that was listed earlier. */
  private get isInOrder(): boolean {
    return this.order === 'inOrder' || this.order === 'byId'
  }

  /** The entries that nobody works on, unordered. */
  private freeAmong(entries: readonly string[], taken: readonly string[]): ItemName[] {
    const isTaken = new Set(taken)
    return entries
      .filter((name) => !isTaken.has(name))
      .flatMap((name) => parseName(name, this.order) ?? [])
  }

  private dueAmong(items: readonly ItemName[]): readonly ItemName[] {
    if (this.order !== 'byTime') return items
    const nowMs = this.wallMs()
    return items.filter(({ priority }) => priority <= nowMs)
  }

  /** Waits until the next item is due, if there is one. */
  private untilDue(items: readonly ItemName[], signal: AbortSignal): readonly Promise<void>[] {
    if (this.order !== 'byTime' || items.length === 0) return []
    const nextMs = Math.min(...items.map(({ priority }) => priority))
    return [pause(this.client.host, Math.max(0, nextMs - this.wallMs()), signal)]
  }

  private wallMs(): number {
    const { host } = this.client
    return host.wallMs?.() ?? host.nowMs()
  }

  /** Removes the items with an id that nobody works on; returns how many. */
  remove(id: string, options: CallOptions): Promise<number> {
    const act = async (signal: AbortSignal): Promise<number> => {
      const [entries, taken] = await this.listBoth(signal)
      const own = this.freeAmong(entries, taken).filter((item) => item.id === id)
      let removed = 0
      for (const { name } of own) {
        signal.throwIfAborted()
        const item = await this.takeThis(name, signal)
        if (item === undefined) continue
        await item.complete({ signal })
        removed++
      }
      return removed
    }
    return limited(this.client, options, act, true, { path: this.path, what: 'not removed' })
  }

  /** Whether an item with this id exists, even if somebody works on it. */
  async has(id: string, options: CallOptions): Promise<boolean> {
    const names = await limited(this.client, options, (signal) => this.list(this.entries, signal))
    return names.some((name) => parseName(name, this.order)?.id === id)
  }

  // --- taking ----------------------------------------------------------------------------------

  /** Takes the first item that nobody works on. */
  private async takeFirst(signal: AbortSignal): Promise<QueueItem<T> | undefined> {
    if (this.isInOrder) {
      const item = await this.takeOneOf(this.candidates, signal)
      if (item !== undefined) return item
    }
    for (;;) {
      const [entries, taken] = await this.listBoth(signal)
      const free = this.dueAmong(this.freeAmong(entries, taken))
      if (free.length === 0) return undefined
      const candidates = await this.sorted(free, signal)
      // The listing stays valid for later, unless something may come before it.
      if (this.isInOrder) this.candidates = candidates
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

  /** If the caller gives up, the item is released as soon as it is known to be taken. */
  private async takeThis(name: string, signal: AbortSignal): Promise<QueueItem<T> | undefined> {
    const taking = this.claiming.run(async () => {
      if (signal.aborted) return undefined
      return this.claim(name)
    })
    try {
      return await orAborted(taking, signal)
    } catch (error) {
      // It comes before the other listed items.
      const listAnew = (): void => void (this.candidates = [])
      taking.then((item) => item?.release()).then(listAnew, listAnew)
      if (error instanceof SessionExpiredError && !signal.aborted) return undefined
      throw error
    }
  }

  private async claim(name: string): Promise<QueueItem<T> | undefined> {
    const { client, codec } = this
    const taking = await this.mark(name)
    if (taking === undefined) return undefined
    const item = new QueueItem(client, taking, codec)
    try {
      const entry = await persist(client, item.signal, () => client.get(taking.entry))
      return item.filled(entry, this.lostOn)
    } catch (error) {
      await item.release()
      // An ephemeral item whose producer is gone, or an expired session.
      if (isRefusal(error, 'noNode') || error instanceof LostError) return undefined
      throw error
    }
  }

  /** Creates the nodes that mark the item as taken; undefined if somebody has taken it. */
  private async mark(name: string): Promise<Taking | undefined> {
    const { client, id } = this
    const entry = joinPath(this.entries, name)
    const taken = joinPath(this.taken, name)
    const holder = joinPath(this.clients, name)
    const ephemeral = { ephemeral: true }
    let stale: readonly string[] = []
    for (;;) {
      const ownName = `consumer-${makeGuid(() => client.host.random())}`
      const own = joinPath(this.clients, ownName)
      try {
        const { results } = await this.claims.commit((transaction) => {
          // Also sets the node, as only these consumers do: its version distinguishes it from
          // kazoo's.
          const marked = transaction.check(entry).create(taken, '', ephemeral).set(taken, id)
          for (const path of stale) marked.delete(path)
          marked.create(holder, ownName, ephemeral).create(own, '', ephemeral)
          return marked
        })
        // Created by one transaction, all have the same zxid and owner.
        const stat =
          results?.[1].stat ?? (await persist(client, undefined, () => client.exists(own)))
        return stat && { entry, taken, holder, own, stat }
      } catch (error) {
        if (!isRefusal(error, 'noNode', 'nodeExists')) throw error
        const { path = '', reason } = error
        if (path === entry || (path === taken && reason === 'nodeExists')) return undefined
        if (path === taken) await ensureParent(client, this.taken)
        else if (path === holder || stale.includes(path)) stale = await this.leftBy(holder)
        else throw error
      }
    }
  }

  /**
   * The leftover of a consumer whose node under `taken` somebody has deleted: whoever takes the
   * item next deletes it, so that it no longer gives a right.
   */
  private async leftBy(holder: string): Promise<string[]> {
    const { client } = this
    const node = await readNode(client, holder)
    if (node === undefined) {
      await ensureParent(client, this.clients)
      return []
    }
    const own = joinPath(this.clients, text.decode(node.data))
    const isThere = (await readNode(client, own)) !== undefined
    return isThere ? [holder, own] : [holder]
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

  /**
   * By priority, then in the order of insertion. Zxids decide if the numbers do not tell the order.
   */
  private async sorted(items: readonly ItemName[], signal: AbortSignal): Promise<string[]> {
    const isTold = items.every(hasTellingNumber)
    const czxids = isTold ? new Map<string, bigint>() : await this.readCzxids(items, signal)
    const there = isTold ? items : items.filter(({ name }) => czxids.has(name))
    return there
      .toSorted(
        (a, b) =>
          a.priority - b.priority ||
          compare(czxids.get(a.name) ?? 0n, czxids.get(b.name) ?? 0n) ||
          compareSequence(a.sequence, b.sequence) ||
          (a.place ?? 0) - (b.place ?? 0),
      )
      .map(({ name }) => name)
  }

  private async readCzxids(
    items: readonly ItemName[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, bigint>> {
    const { client, czxids: known } = this
    const read = async ({ name }: ItemName): Promise<bigint | undefined> => {
      const path = joinPath(this.entries, name)
      const stat = await persist(client, signal, () => client.exists(path, { signal }))
      return stat?.czxid
    }
    const all = await Promise.all(
      items.map(async (item) => [item, known.get(item.name) ?? (await read(item))] as const),
    )
    const found = all.flatMap(([item, czxid]) => (czxid === undefined ? [] : [{ item, czxid }]))
    const byName = (those: typeof found): ReadonlyMap<string, bigint> =>
      new Map(those.map(({ item, czxid }) => [item.name, czxid]))
    this.czxids = byName(
      found.filter(({ item }) => hasTellingNumber(item) || item.place !== undefined),
    )
    return byName(found)
  }
}

/** The counter stays at its end, or continues with negative numbers: see `lineUp` of contenders. */
function hasTellingNumber({ sequence }: ItemName): boolean {
  return sequence >= 0 && sequence < sequenceMax
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function isSame(now: readonly string[], before: readonly string[]): boolean {
  if (now.length !== before.length) return false
  const known = new Set(before)
  return now.every((name) => known.has(name))
}
