/** The changes that a view shows, the newest first: pages into the past, and what happens now. */
import { signal } from '@preact/signals'
import { events, get, type Query } from '../api.ts'
import { liveQueryOf, queryOf, type ChangeFilter } from './filter.ts'
import { keyOf, merged, trimmed, type ChangePage, type PastChange } from './change.ts'
import { compareZxids, zxidAfter, zxidBefore } from './points.ts'

const pageSize = 100
/** Limit of changes in the page. Older ones are loaded again on scrolling. */
const keptMax = 5000
/** How often a page asks again until a change that was streamed is in the history. */
const settleTries = 50
const settleMs = 100
const againMs = 2000

export class ChangeLog {
  readonly changes = signal<readonly PastChange[]>([])
  /** Where the next page begins; null at the end, undefined before the first page. */
  readonly next = signal<string | null | undefined>(undefined)
  readonly isLoading = signal(false)
  readonly isLive = signal(false)
  readonly error = signal<unknown>(undefined)
  /** Changes that wait, so that what is read does not move. */
  readonly waiting = signal<readonly PastChange[]>([])
  /** Changes that were too many to be told. */
  readonly missed = signal(0)
  /** Changes that came while the page was shown. */
  readonly fresh = signal<ReadonlySet<string>>(new Set())
  /** New changes are shown at once if the top is visible and no change is open. */
  isAtTop = true
  isReading = false
  private readonly filter: ChangeFilter
  private readonly over = new AbortController()

  constructor(filter: ChangeFilter) {
    this.filter = filter
  }

  start(): void {
    // A range that has an end is over.
    if (this.filter.to === undefined) void this.follow()
    else void this.firstPage(undefined)
  }

  stop(): void {
    this.over.abort()
  }

  private async follow(): Promise<void> {
    const { signal: isOver } = this.over
    while (!isOver.aborted) {
      try {
        const query = liveQueryOf(this.filter)
        const asking = { signal: isOver }
        for await (const { event, data } of events(query, asking, '/history/stream')) {
          if (isOver.aborted) return
          if (event === 'ready') void this.firstPage((data as { zxid: string }).zxid)
          else if (event === 'changes') this.add(data as { changes: PastChange[]; missed: number })
        }
      } catch (fault) {
        if (!isOver.aborted && this.changes.value.length === 0) this.error.value = fault
      }
      this.isLive.value = false
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }

  private add({ changes, missed }: { changes: readonly PastChange[]; missed: number }): void {
    this.missed.value += missed
    if (this.isAtTop && !this.isReading) {
      this.show(changes)
      this.fresh.value = new Set(changes.map(keyOf))
    } else this.waiting.value = merged(this.waiting.value, changes).slice(0, keptMax)
  }

  private show(changes: readonly PastChange[]): void {
    const all = trimmed(merged(this.changes.value, changes), keptMax)
    this.changes.value = all.changes
    if (all.next !== undefined) this.next.value = all.next
  }

  /** Shows what waits. */
  release(): void {
    const { waiting } = this
    const changes = waiting.value
    waiting.value = []
    // Some waiting changes may have been dropped, so load the list again.
    if (changes.length >= keptMax) void this.firstPage(undefined)
    else this.show(changes)
  }

  /**
   * Loads the page before the live changes. A server streams a change when it is committed, and
   * lists it when it is on its disk; a page that is too early would leave a gap.
   */
  private async firstPage(after: string | undefined): Promise<void> {
    const { signal: isOver } = this.over
    this.isLoading.value = true
    try {
      for (let i = 0; i < settleTries && !isOver.aborted; i++) {
        const page = await this.page()
        if (isOver.aborted) return
        const isWhole = after === undefined || compareZxids(page.upTo, after) >= 0
        if (isWhole || i === settleTries - 1) {
          this.missed.value = 0
          // Streamed changes after the page are not on it.
          const told = this.changes.value.filter(({ zxid }) => compareZxids(zxid, page.upTo) > 0)
          this.changes.value = told
          this.next.value = page.next
          this.show(page.changes)
          this.error.value = undefined
          this.isLive.value = after !== undefined
          break
        }
        await new Promise((resolve) => setTimeout(resolve, settleMs))
      }
    } catch (fault) {
      if (!isOver.aborted) this.error.value = fault
    } finally {
      this.isLoading.value = false
    }
  }

  /** Loads a page of what was before; pages can be short while the server searches. */
  async older(): Promise<void> {
    const { next, isLoading } = this
    const from = next.value
    if (isLoading.value || from === null || from === undefined) return
    isLoading.value = true
    try {
      const page = await this.page(from)
      if (this.over.signal.aborted) return
      next.value = page.next
      this.changes.value = merged(this.changes.value, page.changes)
      this.error.value = undefined
    } catch (fault) {
      if (!this.over.signal.aborted) this.error.value = fault
    } finally {
      isLoading.value = false
    }
  }

  private page(next?: string): Promise<ChangePage> {
    return get('/history/changes', { ...queryOf(this.filter), limit: pageSize, next })
  }
}

/** A server answers a long search with empty pages. */
const emptyPagesMax = 50

/** The change right before or right after a transaction, below a path. */
export async function neighbor(
  path: string,
  zxid: string,
  isLater: boolean,
): Promise<PastChange | undefined> {
  const range = isLater ? { from: zxidAfter(zxid), oldestFirst: true } : { to: zxidBefore(zxid) }
  let next: string | null | undefined
  for (let i = 0; i < emptyPagesMax && next !== null; i++) {
    const query: Query = { path, ...range, limit: 1, next }
    const page: ChangePage = await get('/history/changes', query)
    if (page.changes[0] !== undefined) return page.changes[0]
    next = page.next
  }
  return undefined
}
