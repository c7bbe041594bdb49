import {
  expireHistory,
  halveHistory,
  markBreak,
  retire,
  syncRetired,
  type HistoryRetention,
} from '../history/retention.ts'
import type { Disk, Host } from '../ports.ts'
import { purge } from '../storage/purge.ts'
import type { JournalEvent, JournalOptions } from './journal-options.ts'

const lookThroughEveryMs = 60_000

export interface PurgingParts {
  readonly disk: Disk
  readonly host: Host
  readonly trace: (event: JournalEvent) => void
}

/** Removes files that recovery does not need any more, or moves them to the history. */
export class Purging {
  private readonly parts: PurgingParts
  private readonly options: JournalOptions
  private last: Promise<void> = Promise.resolve()
  private isQueued = false
  /** What the history took when it was last looked through, and what was moved there since. */
  private historyBytes = Infinity
  private lookedThroughMs = -Infinity

  constructor(parts: PurgingParts, options: JournalOptions) {
    this.parts = parts
    this.options = options
  }

  /** Resolves when nothing is being purged. */
  get done(): Promise<void> {
    return this.last
  }

  /** Purges as soon as nothing else is done to the files. One that has not begun serves all calls. */
  soon(): void {
    if (this.isQueued) return
    this.isQueued = true
    this.last = this.last.then(async () => {
      this.isQueued = false
      await this.traced(() => this.purge())
    })
  }

  /** Does something to the files while nothing is purged. */
  exclude<T>(work: () => Promise<T>): Promise<T> {
    const working = this.last.then(work)
    this.last = working.then(
      () => {},
      () => {},
    )
    return working
  }

  /** The disk is full: part of the history makes room for writes. */
  async makeRoom(): Promise<void> {
    if (this.options.history === undefined) return
    await this.traced(async () => {
      const { removed, bytes } = await halveHistory(this.parts.disk, this.options)
      this.historyBytes = bytes
      return removed
    })
  }

  /** Tells the history that the past does not lead to the database of this zxid. */
  async markBreak(zxid: bigint): Promise<void> {
    if (this.options.history === undefined) return
    await this.traced(async () => {
      await markBreak(this.parts.disk, this.options, zxid)
      return []
    })
  }

  private async traced(remove: () => Promise<readonly string[]>): Promise<void> {
    const { trace } = this.parts
    try {
      const files = await remove()
      if (files.length > 0) trace({ type: 'purged', files })
    } catch (error) {
      trace({ type: 'purgeFailed', message: (error as Error).message })
    }
  }

  private async purge(): Promise<readonly string[]> {
    const { disk } = this.parts
    const { snapshotDir, logDir, retainCount, history, retainBytes } = this.options
    const retention = { snapshotDir, logDir, retainCount, retainBytes: retainBytes || Infinity }
    if (history === undefined) return purge(disk, retention)
    await purge(disk, {
      ...retention,
      dispose: {
        take: async (directory, { name, bytes }) => {
          await retire(disk, directory, name)
          this.historyBytes += bytes
        },
        sync: (directory) => syncRetired(disk, directory),
      },
    })
    return this.expire(history)
  }

  /**
   * Looks through the history if it may be too large, or after a while. Not after each snapshot:
   * under load one follows the other, and the history may consist of many files.
   */
  private async expire(history: HistoryRetention): Promise<readonly string[]> {
    const { disk, host } = this.parts
    const nowMs = host.monotonicMs()
    const isDue = nowMs - this.lookedThroughMs >= lookThroughEveryMs
    if (!isDue && this.historyBytes <= history.retainBytes) return []
    this.lookedThroughMs = nowMs
    const { removed, bytes } = await expireHistory(disk, this.options, history, host.wallMs())
    this.historyBytes = bytes
    return removed
  }
}
