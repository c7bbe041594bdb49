/** The progress of a sweep, in a file, so that an interrupted sweep can be resumed. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SeedKind } from './run-seed.ts'
import { addCounts, type Counts } from './summary.ts'
import type { Outcome, Range, Swept } from './sweep.ts'

const directory = fileURLToPath(new URL('../../../.sweeps', import.meta.url))

interface Saved {
  readonly seconds: number
  /** The first seed that no worker has taken. */
  readonly next: number
  /** Taken, and not finished. */
  readonly open: readonly Range[]
  readonly seeds: number
  readonly failed: readonly number[]
  readonly counts: readonly (readonly [string, number])[]
}

export class Progress {
  private readonly path: string | undefined
  private readonly range: Range
  private readonly startedMs = Date.now()
  private readonly before: Saved | undefined
  private readonly again: Range[]
  private readonly open = new Set<Range>()
  private next: number
  private readonly failed: number[]
  private readonly counts: Counts
  /** Outcomes of unfinished batches. */
  private readonly pending = new Map<number, Outcome>()
  private finishedSeeds: number

  private constructor(path: string | undefined, range: Range, before: Saved | undefined) {
    this.path = path
    this.range = range
    this.before = before
    this.again = [...(before?.open ?? [])]
    this.next = before?.next ?? range.first
    this.failed = [...(before?.failed ?? [])]
    this.counts = new Map(before?.counts)
    this.finishedSeeds = before?.seeds ?? 0
  }

  /** Progress made by the same code on this range; a range without an end is never resumed. */
  static load(codeHash: string, range: Range, kind: SeedKind): Progress {
    if (range.last === Infinity) return new Progress(undefined, range, undefined)
    const { servers = 'any', isChanging = false, recipe = '', isTwice = false } = kind
    const marks = [isChanging ? 'changing' : '', recipe, isTwice ? 'twice' : '']
    const of = [codeHash, servers, ...marks].filter(Boolean)
    const path = `${directory}/${of.join('-')}-${range.first}..${range.last}.json`
    let saved: Saved | undefined
    try {
      saved = JSON.parse(readFileSync(path, 'utf8')) as Saved
    } catch {
      // There is no file.
    }
    return new Progress(path, range, saved)
  }

  get seeds(): number {
    return this.finishedSeeds
  }

  take(count: number): Range | undefined {
    let batch = this.again.shift()
    if (batch === undefined && this.next <= this.range.last) {
      batch = { first: this.next, last: Math.min(this.range.last, this.next + count - 1) }
      this.next = batch.last + 1
    }
    if (batch !== undefined) this.open.add(batch)
    return batch
  }

  note(outcome: Outcome): void {
    this.pending.set(outcome.seed, outcome)
  }

  finished(batch: Range): void {
    this.open.delete(batch)
    for (let seed = batch.first; seed <= batch.last; seed++) {
      const outcome = this.pending.get(seed)
      this.pending.delete(seed)
      if (outcome === undefined) continue
      this.finishedSeeds++
      addCounts(this.counts, outcome.counts)
      if (outcome.isFailed) this.failed.push(seed)
    }
  }

  describe(): string {
    const { seeds, failed, seconds } = this.swept()
    const now = seeds - (this.before?.seeds ?? 0) + this.pending.size
    const rate = (now / ((Date.now() - this.startedMs) / 1000)).toFixed(1)
    return `${seeds} seeds in ${seconds.toFixed(0)} s, now ${rate} a second, ${failed.length} failed`
  }

  swept(): Swept {
    const seconds = (this.before?.seconds ?? 0) + (Date.now() - this.startedMs) / 1000
    const isWhole = this.next > this.range.last && this.open.size + this.again.length === 0
    const failed = this.failed.toSorted((a, b) => a - b)
    return { seeds: this.finishedSeeds, failed, counts: this.counts, seconds, isWhole }
  }

  save(): void {
    if (this.path === undefined) return
    const { seconds, seeds, failed, counts } = this.swept()
    const open = [...this.open, ...this.again]
    const saved: Saved = { seconds, next: this.next, open, seeds, failed, counts: [...counts] }
    mkdirSync(directory, { recursive: true })
    // An interrupted save leaves the previous file.
    writeFileSync(`${this.path}.new`, JSON.stringify(saved))
    renameSync(`${this.path}.new`, this.path)
  }
}
