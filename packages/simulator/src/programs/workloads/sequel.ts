import type { Change, Stat } from '@zabra/client'
import type { Stage } from '../stage.ts'

interface Step {
  readonly reader: string
  readonly from: bigint
  readonly to: bigint
}

/**
 * Checks the notifications about a node that is never deleted. Unless `missed` is reported, each
 * change must be the version directly after the previous one.
 */
export class Sequel {
  private readonly path: string
  private readonly stage: Stage
  /** Versions by the transaction that made them, as far as they were answered. */
  private readonly versions = new Map<bigint, number>()
  private readonly steps: Step[] = []

  constructor(path: string, stage: Stage) {
    this.path = path
    this.stage = stage
  }

  written({ mzxid, version }: Stat): void {
    this.versions.set(mzxid, version)
  }

  /** For the changes of one watch. */
  reader(name: string): (change: Change) => void {
    let before: bigint | undefined
    return ({ type, zxid, stat, missed }) => {
      if (type === 'children') return
      if (stat !== undefined) this.written(stat)
      if (!missed && before !== undefined && zxid !== undefined)
        this.steps.push({ reader: name, from: before, to: zxid })
      before = zxid
    }
  }

  check(): void {
    for (const { reader, from, to } of this.steps) {
      const before = this.versions.get(from)
      const after = this.versions.get(to)
      if (before === undefined || after === undefined) continue
      this.stage.count('changes told one after the other')
      if (after !== before + 1)
        this.stage.violate(
          `${reader} is told of version ${after} of ${this.path} after ${before}, nothing missed`,
        )
    }
  }
}
