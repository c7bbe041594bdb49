/** The trace of a run, line by line; formatted only if it is needed. */

import { hash } from '../world/random.ts'

/** A line, or a function that makes it from values that no longer change. */
export type Line = string | (() => string)

export class Transcript {
  private readonly entries: { readonly atMs: number; readonly line: Line }[] = []

  add(atMs: number, line: Line): void {
    this.entries.push({ atMs, line })
  }

  get lines(): string[] {
    return this.entries.map(({ atMs, line }) => {
      const text = typeof line === 'string' ? line : line()
      return `${atMs.toFixed(2).padStart(10)}  ${text}`
    })
  }

  /** Two runs with the same seed have the same fingerprint. */
  get fingerprint(): number {
    return hash(this.lines.join('\n'))
  }
}
