import { joinPath, type Client } from '@zabra/client'
import { SetPartitioner, type Share } from '@zabra/recipes'
import { ChangedMind } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { leftBelow } from './holding.ts'
import { Rights } from './rights.ts'

const path = '/partitions'
const logsPath = '/partition-logs'
const items = ['a', 'b', 'c', 'd']

/** A set that is divided among changing members: each item has one writer at a time. */
export class PartitionWorkload implements Workload {
  private readonly stage: Stage
  private readonly logs: ReadonlyMap<string, GuardedLog>
  private readonly rights: ReadonlyMap<string, Rights>

  constructor(stage: Stage) {
    this.stage = stage
    this.rights = new Map(items.map((item) => [item, new Rights(`the lock of ${item}`, stage)]))
    this.logs = new Map(
      items.map((item) => [item, new GuardedLog(joinPath(logsPath, item), stage)]),
    )
  }

  async setUp(client: Client): Promise<void> {
    await client.create(logsPath)
    for (const log of this.logs.values()) await log.setUp(client)
  }

  async turn({ client, chance, name, process, life }: Actor): Promise<void> {
    const { stage } = this
    const enough = new AbortController()
    const cancel = process.timer(chance.between(200, stage.isHealed ? 500 : 4000), () =>
      enough.abort(new ChangedMind('has worked enough')),
    )
    const id = `${name}/${life}/${chance.next()}`
    const partitioner = new SetPartitioner(client, path, items, { id, settleMs: 100 })
    const work = async ({ items: own, signal, held, locks }: Share): Promise<void> => {
      if (held === undefined) return
      stage.mutant?.held?.(held)
      stage.count('shares')
      for (const [item, lock] of locks)
        this.rights.get(item)!.grant({
          holder: name,
          held: lock,
          sharing: 'alone',
          permits: 1,
          seenZxid: client.lastZxid,
        })
      while (!signal.aborted) {
        const item = chance.pick(own)
        await this.logs.get(item)!.append(client, held, locks.get(item))
        await process.sleep(chance.next() * 100)
      }
    }
    try {
      await partitioner.run(work, { signal: enough.signal })
    } finally {
      cancel()
    }
  }

  unrest(): string | undefined {
    return leftBelow(this.stage, path)
  }

  check(): void {
    for (const log of this.logs.values()) log.check()
  }

  mayStay(node: string): boolean {
    return node.startsWith(logsPath)
  }
}
