import { text, type Client } from '@zabra/client'
import { IdQueue } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const path = '/id-queue'
const entry = /^\/id-queue\/entries\/queue-\|([^|]*)\|/

/**
 * Items that can be removed by their ids: each is either completed or removed, once, and none is
 * lost. An item that was put is found by its id.
 */
export class IdQueueWorkload implements Workload {
  private readonly stage: Stage
  private readonly queues = new WeakMap<Client, IdQueue<string>>()
  private readonly put = new Set<string>()
  /** The fate of an item. */
  private readonly fates = new Map<string, string>()
  /** Items that may have been completed or removed by somebody who does not know. */
  private readonly uncertain = new Set<string>()
  private items = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  begin({ client }: Actor): void {
    this.queues.set(client, new IdQueue(client, path, { codec: text }))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance } = actor
    const queue = this.queues.get(client)!
    const act = stage.isHealed ? 'take' : chance.pick(['put', 'put', 'put', 'take', 'remove'])
    if (act === 'put') await this.putOne(actor, queue)
    else if (act === 'take') await this.takeOne(actor, queue)
    else await this.removeOne(actor, queue)
  }

  check(): void {
    const { stage, fates, uncertain } = this
    const tree = stage.tree()
    if (tree === undefined) return
    // As Curator names them.
    const left = new Set([...tree.keys()].map((node) => entry.exec(node)?.[1]))
    for (const [item, fate] of fates)
      if (left.has(item)) stage.violate(`${item} is ${fate}, and still in the queue`)
    for (const item of this.put)
      if (!left.has(item) && !fates.has(item) && !uncertain.has(item))
        stage.violate(`${item} is lost`)
  }

  mayStay(node: string): boolean {
    return node.startsWith(path)
  }

  private async putOne(actor: Actor, queue: IdQueue<string>): Promise<void> {
    const { stage } = this
    const item = `item-${++this.items}`
    await queue.put(item, item, drawLimits(actor, stage))
    this.put.add(item)
    stage.count('items put')
    const isThere = await queue.has(item, { timeoutMs: 3000 })
    if (!isThere && !this.fates.has(item) && !this.uncertain.has(item))
      stage.violate(`${actor.name} has put ${item}, and does not find it`)
  }

  private async takeOne(actor: Actor, queue: IdQueue<string>): Promise<void> {
    const { stage } = this
    const item = await (stage.isHealed
      ? queue.tryTake()
      : queue.take({ timeoutMs: 3000, ...drawLimits(actor, stage) }))
    if (item === undefined) return
    const { value } = item
    const before = this.fates.get(value)
    if (before !== undefined) stage.violate(`${actor.name} is given ${value}, which is ${before}`)
    try {
      await actor.process.sleep(actor.chance.next() * 30)
      this.uncertain.add(value)
      await item.complete()
      this.settle(value, `completed by ${actor.name}`)
    } finally {
      await item.release()
    }
  }

  private async removeOne(actor: Actor, queue: IdQueue<string>): Promise<void> {
    const { stage, fates } = this
    // One that nobody has finished, as far as anybody knows.
    const open = [...this.put].filter((item) => !fates.has(item)).slice(-8)
    if (open.length === 0) return
    const item = actor.chance.pick(open)
    const wasUncertain = this.uncertain.has(item)
    this.uncertain.add(item)
    const removed = await queue.remove(item, drawLimits(actor, stage))
    if (removed > 1) stage.violate(`${actor.name} removes ${item} ${removed} times`)
    if (removed === 1) this.settle(item, `removed by ${actor.name}`)
    else if (!wasUncertain) this.uncertain.delete(item)
  }

  private settle(item: string, fate: string): void {
    const { stage, fates } = this
    const before = fates.get(item)
    if (before !== undefined) stage.violate(`${item} is ${fate}, and was ${before}`)
    fates.set(item, fate)
    stage.count(`items ${fate.split(' ')[0]!}`)
  }
}
