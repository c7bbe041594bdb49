import { text, type Client } from '@zabra/client'
import { DelayQueue } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const path = '/delays'

/** Items with a due time: none is delivered early, completed twice, or lost. */
export class DelayWorkload implements Workload {
  private readonly stage: Stage
  private readonly queues = new WeakMap<Client, DelayQueue<string>>()
  private readonly due = new Map<string, number>()
  private readonly put = new Set<string>()
  private readonly done = new Map<string, string>()
  /** Items that may have been completed by a program that does not know. */
  private readonly uncertain = new Set<string>()
  private items = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  begin({ client }: Actor): void {
    this.queues.set(client, new DelayQueue(client, path, { codec: text }))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage, due, done } = this
    const { client, chance, name } = actor
    const queue = this.queues.get(client)!
    if (!stage.isHealed && chance.chance(0.6)) {
      const value = `item-${++this.items}`
      const dueMs = stage.nowMs + chance.between(0, 1500)
      due.set(value, dueMs)
      await queue.put(value, { dueMs, ...drawLimits(actor, stage) })
      this.put.add(value)
      stage.count('items put')
      return
    }
    const item = await (stage.isHealed
      ? queue.tryTake()
      : queue.take({ timeoutMs: 3000, ...drawLimits(actor, stage) }))
    if (item === undefined) return
    try {
      const { value } = item
      if (stage.nowMs < due.get(value)!) stage.violate(`${name} gets ${value} before it is due`)
      this.uncertain.add(value)
      await item.complete()
      const before = done.get(value)
      if (before !== undefined) stage.violate(`${name} completes ${value}, and so did ${before}`)
      done.set(value, name)
      stage.count('items done')
    } finally {
      await item.release()
    }
  }

  check(): void {
    const { stage } = this
    const tree = stage.tree()
    if (tree === undefined) return
    const left = new Set(
      [...tree].flatMap(([node, { data }]) =>
        // The value is in a frame.
        node.startsWith(`${path}/entries/`) ? (data?.match(/item-\d+/) ?? []) : [],
      ),
    )
    for (const item of this.done.keys())
      if (left.has(item)) stage.violate(`${item} is done, and still in the queue`)
    for (const item of this.put)
      if (!left.has(item) && !this.done.has(item) && !this.uncertain.has(item))
        stage.violate(`${item} is lost`)
  }

  mayStay(node: string): boolean {
    return node.startsWith(path)
  }
}
