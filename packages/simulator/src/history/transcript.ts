/** What happened, line by line; written out only if somebody wants to read it. */

import { hash } from '../world/random.ts'

/** A line, or how to make it: from what does not change any more. */
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

  /** Two runs of one seed have the same. */
  get fingerprint(): number {
    return hash(this.lines.join('\n'))
  }
}
