import type { Client } from '@zabra/client'
import { SharedCount } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const path = '/shared-count/one'
const initial = 10

/**
 * A number that is set, or set if it is unchanged: each version has one value, and a version that
 * was compared successfully is the one before.
 */
export class SharedCountWorkload implements Workload {
  private readonly stage: Stage
  private readonly counts = new WeakMap<Client, SharedCount>()
  /** The writer and the value of each version. */
  private readonly written = new Map<number, { readonly value: number; readonly name: string }>()
  private readonly read = new Map<number, number>()
  private values = initial

  constructor(stage: Stage) {
    this.stage = stage
  }

  begin({ client }: Actor): void {
    this.counts.set(client, new SharedCount(client, path, initial))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance, name, process } = actor
    const count = this.counts.get(client)!
    if (chance.chance(0.3)) {
      const { value, version } = await count.set(++this.values, drawLimits(actor, stage))
      this.wrote(name, value, version)
      return
    }
    const seen = await count.get(drawLimits(actor, stage))
    this.saw(name, seen.value, seen.version)
    await process.sleep(chance.next() * (stage.isHealed ? 5 : 50))
    const next = await count.compareAndSet(seen, ++this.values, drawLimits(actor, stage))
    if (next === undefined) {
      stage.count('shared counts that had changed')
      return
    }
    const expected = (seen.version ?? -1) + 1
    if (next.version !== expected)
      stage.violate(`${name} compared with version ${seen.version}, and wrote ${next.version}`)
    this.wrote(name, next.value, next.version)
  }

  check(): void {
    const { stage, written, read } = this
    for (const [version, value] of read) {
      const by = written.get(version)
      if (by !== undefined && by.value !== value)
        stage.violate(`version ${version} was read as ${value}, and ${by.name} wrote ${by.value}`)
    }
    const found = stage.tree()?.get(path)
    const last = Math.max(-1, ...written.keys())
    if (found === undefined ? last >= 0 : found.stat.version < last)
      stage.violate(`version ${last} of ${path} is lost`)
  }

  mayStay(node: string): boolean {
    return node.startsWith('/shared-count')
  }

  private wrote(name: string, value: number, version: number | undefined): void {
    const { stage, written } = this
    if (version === undefined) {
      stage.violate(`${name} wrote ${value} and is given no version`)
      return
    }
    const before = written.get(version)
    if (before !== undefined)
      stage.violate(
        `${name} wrote ${value} as version ${version}, and ${before.name} ${before.value}`,
      )
    written.set(version, { value, name })
    stage.count('shared counts written')
  }

  private saw(name: string, value: number, version: number | undefined): void {
    const { stage, read } = this
    if (version === undefined) {
      if (value !== initial) stage.violate(`${name} sees ${value} before anybody has written`)
      return
    }
    const before = read.get(version)
    if (before !== undefined && before !== value)
      stage.violate(`version ${version} is ${value} for ${name}, and was ${before}`)
    read.set(version, value)
  }
}
