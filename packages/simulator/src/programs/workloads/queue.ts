import { isRefusal, text, type Client } from '@zabra/client'
import { LostError, Queue } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { drawLimits } from './holding.ts'

const path = '/queue'
const donePath = '/done'
const logsPath = '/logs'

const stepsMax = 3

const takeMsMax = 10_000

/**
 * Items that are put into a queue and processed: none is lost or processed twice, and a consumer
 * whose item has been given to another one cannot write under guard.
 */
export class QueueWorkload implements Workload {
  readonly needsAll = true
  private readonly stage: Stage
  private readonly queues = new WeakMap<Client, Queue<string>>()
  private readonly put = new Set<string>()
  private readonly done = new Map<string, string>()
  private readonly served = new Set<string>()
  /** The writes of the consumers of each item. */
  private readonly logs = new Map<string, GuardedLog>()
  private items = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  async setUp(client: Client): Promise<void> {
    await client.create(donePath)
    await client.create(logsPath)
  }

  begin({ client }: Actor): void {
    this.queues.set(client, new Queue(client, path, { codec: text }))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance, index } = actor
    const queue = this.queues.get(client)!
    const limits = drawLimits(actor, stage)
    // In the end one program puts items until all others have got one.
    const isPutting = stage.isHealed ? index === 0 : chance.chance(0.5)
    if (isPutting) {
      const item = `item-${++this.items}`
      const log = new GuardedLog(`${logsPath}/${item}`, stage)
      await log.setUp(client)
      this.logs.set(item, log)
      await queue.put(item, limits)
      this.put.add(item)
      stage.count('items put')
    } else if (stage.isHealed) {
      // A program that got one leaves items to the others, because new consumers may overtake
      // waiting ones.
      if (this.served.has(actor.name)) await actor.process.sleep(100)
      else await this.work(actor, await queue.take({ signal: stage.ending.signal }))
      this.served.add(actor.name)
    } else if (limits.signal !== undefined) {
      // One after another, until it has enough.
      for await (const item of queue.items({ signal: limits.signal })) await this.work(actor, item)
    } else {
      await this.work(actor, await queue.take({ timeoutMs: takeMsMax, ...limits }))
    }
  }

  check(): void {
    const { stage } = this
    const tree = stage.tree()
    if (tree === undefined) return
    const left = new Set(
      [...tree].flatMap(([node, { data }]) =>
        node.startsWith(`${path}/entries/`) ? [data ?? ''] : [],
      ),
    )
    for (const item of this.put) {
      const isDone = tree.has(`${donePath}/${item}`)
      if (!isDone && !left.has(item)) stage.violate(`${item} is lost`)
      if (isDone && left.has(item)) stage.violate(`${item} is done, and still in the queue`)
    }
    for (const log of this.logs.values()) log.check()
    for (const item of this.done.keys())
      if (!tree.has(`${donePath}/${item}`)) stage.violate(`${item} was not done after all`)
  }

  mayStay(node: string): boolean {
    return [path, donePath, logsPath].some((folder) => node.startsWith(folder))
  }

  /** Returns whether there was an item. */
  private async work(
    { client, chance, process, name }: Actor,
    item: Awaited<ReturnType<Queue<string>['tryTake']>>,
  ): Promise<boolean> {
    const { stage } = this
    if (item === undefined) return false
    await using held = item
    stage.mutant?.held?.(held)
    const id = held.value
    const log = this.logs.get(id)!
    const stepMsMax = chance.pick([5, 30, 30, stage.isHealed ? 30 : 600])
    const steps = chance.between(1, stepsMax)
    for (let i = 0; i < steps; i++) {
      await process.sleep(chance.next() * stepMsMax)
      await log.append(client, held)
    }
    if (!stage.isHealed && chance.chance(0.3)) {
      stage.count('items given back')
      return true
    }
    try {
      await held.complete({ also: (transaction) => transaction.create(`${donePath}/${id}`) })
      const before = this.done.get(id)
      if (before !== undefined) stage.violate(`${id} is done by ${before} and by ${name}`)
      this.done.set(id, name)
      stage.count('items done')
    } catch (error) {
      if (isRefusal(error, 'nodeExists')) stage.violate(`${name} is given ${id}, which is done`)
      else if (!(error instanceof LostError)) throw error
    }
    return true
  }
}
