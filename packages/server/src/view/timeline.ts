import type { ZabEvent } from '@zabra/core'

/** Something that happened to this server's part in the ensemble. */
export interface TimelineEntry {
  readonly wallMs: number
  readonly event: ZabEvent
}

const entriesMax = 500

/** The elections, roles and changes of members that this server has seen, in memory. */
export class Timeline {
  private readonly kept: TimelineEntry[] = []

  /** Oldest first. */
  get entries(): readonly TimelineEntry[] {
    return this.kept
  }

  add(event: ZabEvent): void {
    this.kept.push({ wallMs: Date.now(), event })
    if (this.kept.length > entriesMax) this.kept.shift()
  }
}
