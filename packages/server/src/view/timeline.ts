import type { ZabEvent } from '@zabra/core'

/** Something that happened to this server's part in the ensemble. */
export interface TimelineEntry {
  readonly wallMs: number
  readonly event: ZabEvent
}

const entriesMax = 500
/** Anybody who reaches the ports can cause these, so that only the newest of a series is kept. */
const byStrangers: ReadonlySet<ZabEvent['type']> = new Set([
  'learnerRefused',
  'epochRefused',
  'crowded',
])

/** The elections, roles and changes of members that this server has seen, in memory. */
export class Timeline {
  private readonly kept: TimelineEntry[] = []

  /** Oldest first. */
  get entries(): readonly TimelineEntry[] {
    return this.kept
  }

  add(event: ZabEvent): void {
    if (byStrangers.has(event.type) && this.kept.at(-1)?.event.type === event.type) this.kept.pop()
    this.kept.push({ wallMs: Date.now(), event })
    if (this.kept.length > entriesMax) this.kept.shift()
  }
}
