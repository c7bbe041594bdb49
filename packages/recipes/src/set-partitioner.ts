import { joinPath, type Client } from '@zabra/client'
import { checkName } from './nodes/parents.ts'
import { checkPath, pause } from '@zabra/client/internal'
import type { Held } from './holding/held.ts'
import { orAborted, underAll } from './waiting/limits.ts'
import { MultiLock } from './multi-lock.ts'
import { Party } from './party.ts'
import type { LockOptions } from './turns/turn.ts'

/** The part of a set that one member works on, until `signal` aborts. */
export interface Share {
  readonly items: readonly string[]
  /** Aborts when members come or go, when the part is lost, and when the caller's signal aborts. */
  readonly signal: AbortSignal
  /** The locks of all its items; undefined where there are more members than items. */
  readonly held: Held | undefined
  /** The lock of each item. What belongs to one item goes by the token of that lock. */
  readonly locks: ReadonlyMap<string, Held>
}

export interface SetPartitionerOptions extends LockOptions {
  /** The name of this member, which no other has; one that nobody else has, by default. */
  readonly id?: string | undefined
  /** How long nobody must have come or gone before the set is divided anew. 1 s by default. */
  readonly settleMs?: number | undefined
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

const settleMsDefault = 1000

/**
 * Divides a set among those who are there: each item is one member's at a time. When members come or
 * go, everybody stops, and the set is divided anew. Who works on an item holds its lock, so that two
 * never have the same item, whatever they believe about who is there.
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

  /** All members must name the same items. */
  constructor(
    client: Client,
    path: string,
    items: readonly string[],
    options: SetPartitionerOptions = {},
  ) {
    const { settleMs = settleMsDefault, ...lockOptions } = options
    this.client = client.patient
    this.path = checkPath(path)
    for (const item of items) checkName(item, 'an item')
    this.items = [...new Set(items)].toSorted()
    this.id = options.id ?? `${client.host.processName ?? ''}#${client.host.random()}`
    this.settleMs = settleMs
    this.options = { ...lockOptions, id: this.id }
  }

  /**
   * Is a member until the signal aborts or the client is closed, and does the work on one part after
   * another: it is called with each, and called again once it has ended and the part is another. Work
   * that ends before its part does is not called again for it.
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
          // Between the look and the listening somebody may have come.
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

  /** As kazoo does it: every n-th item of the sorted set, by the place among the sorted members. */
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

  /** Until the part is another. */
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
        // Lost: taken anew, with whoever is there then.
        if (end.aborted || error !== held.signal.reason) throw error
      })
    })
  }
}

/** What the work throws because it is told to stop is no failure. */
async function settled(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
