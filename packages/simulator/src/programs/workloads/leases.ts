import { Lease } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import type { Client } from '@zabra/client'
import { GuardedLog } from './guarded-log.ts'
import { drawLimits } from './holding.ts'

const path = '/leases/one'
const logPath = '/lease-log'

/**
 * A lease that outlives sessions: guarded writes of its holders are never lost, and those of each
 * are contiguous, whether a holder is paused, cut off or comes back.
 */
export class LeaseWorkload implements Workload {
  private readonly stage: Stage
  private readonly log: GuardedLog

  constructor(stage: Stage) {
    this.stage = stage
    this.log = new GuardedLog(logPath, stage)
  }

  async setUp(client: Client): Promise<void> {
    await this.log.setUp(client)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage, log } = this
    const { client, chance, name: id } = actor
    const lease = new Lease(client, path, { id, ttlMs: 2000 })
    const held = await lease.acquire(drawLimits(actor, stage))
    stage.mutant?.held?.(held)
    stage.count('leases held')
    try {
      for (let steps = chance.between(0, 3); steps > 0; steps--) {
        await actor.process.sleep(chance.next() * (stage.isHealed ? 30 : 600))
        await log.append(client, held)
      }
    } finally {
      await held.release()
    }
  }

  check(): void {
    this.log.check()
  }

  mayStay(node: string): boolean {
    return node === logPath || node.startsWith('/leases')
  }
}
