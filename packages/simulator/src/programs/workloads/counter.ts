import { Counter } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import type { Client } from '@zabra/client'
import { drawLimits } from './holding.ts'

const path = '/counters/one'

/** No increment is lost or applied twice. */
export class CounterWorkload implements Workload {
  private readonly stage: Stage
  private readonly counters = new WeakMap<Client, Counter>()
  private readonly counted = new Map<bigint, string>()
  private uncertain = 0
  private last = 0n

  constructor(stage: Stage) {
    this.stage = stage
  }

  begin({ client }: Actor): void {
    this.counters.set(client, new Counter(client, path))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, name } = actor
    const counter = this.counters.get(client)!
    const limits = drawLimits(actor, stage)
    this.uncertain++
    const value = await counter.increment(limits)
    this.uncertain--
    const before = this.counted.get(value)
    if (before !== undefined) stage.violate(`${name} counts ${value}, and so did ${before}`)
    this.counted.set(value, name)
    stage.count('counted')
    if (!stage.isHealed) return
    const now = await counter.get({ consistency: 'linearizable' })
    // A read that began before another program's increment may be answered after it.
    if (now > this.last) this.last = now
  }

  check(): void {
    const { size } = this.counted
    const most = size + this.uncertain
    const { last } = this
    if (last < BigInt(size) || last > BigInt(most))
      this.stage.violate(`${size} to ${most} were counted, and it is ${last}`)
  }

  mayStay(node: string): boolean {
    return node.startsWith('/counters')
  }
}
