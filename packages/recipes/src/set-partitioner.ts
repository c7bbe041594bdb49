import { joinPath, type Client } from '@zabra/client'
import { checkName } from './nodes/parents.ts'
import { checkPath, pause } from '@zabra/client/internal'
import type { Held } from './holding/held.ts'
import { orAborted, underAll } from './waiting/limits.ts'
import { MultiLock } from './multi-lock.ts'
import { Party } from './party.ts'
import { checkedOptions, type LockOptions } from './turns/turn.ts'

/** The part of a set that one member works on, until `signal` aborts. */
export interface Share {
  readonly items: readonly string[]
  /** Aborts when members come or go, when the part is lost, and when the caller's signal aborts. */
  readonly signal: AbortSignal
  /** The locks of all its items; undefined if there are more members than items. */
  readonly held: Held | undefined
  /** The lock of each item. Resources of one item check the token of that lock. */
  readonly locks: ReadonlyMap<string, Held>
}

export interface SetPartitionerOptions extends LockOptions {
  /** The name of this member, which must be unique; random by default. */
  readonly id?: string | undefined
  /** How long the members must be unchanged before the set is divided again. 1 s by default. */
  readonly settleMs?: number | undefined
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

const settleMsDefault = 1000

/**
 * Divides a set among its members: each item belongs to one member at a time. When members come or
 * go, everybody stops, and the set is divided again. A member holds the lock of each of its items,
 * so that two never work on the same item, whatever they believe about the other members.
 *
 *     const partitioner = new SetPartitioner(client, '/crawlers', ['a-m', 'n-z'])
 *     await partitioner.run(async ({ items, signal }) => crawl(items, signal), { signal })
 */
export class SetPartitioner {
  private readonly client: Client
  private readonly path: string
  private readonly items: readonly string[]
  private readonly id: string
  private readonly settleMs: number
  private readonly options: LockOptions

  /** All members must list the same items. */
  constructor(
    client: Client,
    path: string,
    items: readonly string[],
    options: SetPartitionerOptions = {},
  ) {
    const { settleMs = settleMsDefault, ...rest } = options
    const lockOptions = checkedOptions(client, 'SetPartitioner', rest)
    this.client = client.patient
    this.path = checkPath(path)
    for (const item of items) checkName(item, 'an item')
    this.items = [...new Set(items)].toSorted()
    this.id = options.id ?? `${client.host.processName ?? ''}#${client.host.random()}`
    this.settleMs = settleMs
    this.options = { ...lockOptions, id: this.id }
  }

  /**
   * Stays a member until the signal aborts or the client is closed, and does the work on one part
   * after another: it is called with each part, and called again once it has ended and the part has
   * changed. Work that ends before its part does is not called again for it.
   *
   *     await crawlers.run(async ({ items, signal }) => crawl(items, signal), { signal })
   */
  async run(
    work: (share: Share) => Promise<unknown>,
    { signal = new AbortController().signal }: RunOptions = {},
  ): Promise<void> {
    try {
      await this.takePart(work, signal)
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error
    }
  }

  private async takePart(
    work: (share: Share) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const party = new Party(this.client, joinPath(this.path, 'party'))
    await using presence = await party.join(this.id, { signal })
    await using guests = await party.watch({ signal })
    await underAll([signal, guests.signal, presence.signal], async (end) => {
      for (;;) {
        const members = await this.untilSettled(guests, end)
        const changed = new AbortController()
        const stop = guests.onChange((now) => {
          if (now.join() !== members.join()) changed.abort(new Error('members have come or gone'))
        })
        try {
          // Somebody may have joined between the read and the listener.
          if (guests.current.join() !== members.join()) continue
          await underAll([end, changed.signal], (either) => this.workOn(members, work, either))
        } catch (error) {
          if (!changed.signal.aborted || error !== changed.signal.reason) throw error
        } finally {
          stop()
        }
      }
    })
  }

  /** As in kazoo: every n-th item of the sorted set, by the position among the sorted members. */
  private itemsOf(members: readonly string[]): readonly string[] {
    const place = members.indexOf(this.id)
    if (place < 0) return []
    return this.items.filter((_, index) => index % members.length === place)
  }

  private async untilSettled(
    guests: { readonly current: readonly string[] },
    end: AbortSignal,
  ): Promise<readonly string[]> {
    for (;;) {
      const before = guests.current
      await pause(this.client.host, this.settleMs, end)
      if (before.join() === guests.current.join() && before.includes(this.id)) return before
    }
  }

  /** Waits until the part changes. */
  private async workOn(
    members: readonly string[],
    work: (share: Share) => Promise<unknown>,
    end: AbortSignal,
  ): Promise<void> {
    const items = this.itemsOf(members)
    const never = new Promise<never>(() => {})
    if (items.length === 0) {
      await settled(() => work({ items, signal: end, held: undefined, locks: new Map() }), end)
      return orAborted(never, end)
    }
    const pathOf = (item: string) => joinPath(this.path, 'locks', encodeURIComponent(item))
    const lock = new MultiLock(this.client, items.map(pathOf), this.options)
    await using held = await lock.acquire({ signal: end, requeue: true })
    const locks = new Map(items.map((item) => [item, held.locks.get(pathOf(item))!]))
    await underAll([end, held.signal], async (signal) => {
      await settled(() => work({ items, signal, held, locks }), signal)
      await orAborted(never, signal).catch((error: unknown) => {
        // Lost: divided again among the current members.
        if (end.aborted || error !== held.signal.reason) throw error
      })
    })
  }
}

/** Errors of the work after it was aborted are ignored. */
async function settled(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
