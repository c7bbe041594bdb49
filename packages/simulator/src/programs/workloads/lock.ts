import type { Client } from '@zabra/client'
import { Lock, type Held, type LossPolicy } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { FencedResource } from './fenced-resource.ts'
import { GuardedLog } from './guarded-log.ts'
import { drawLimits, holdFor, sendLate } from './holding.ts'

const path = '/locks/one'
const logPath = '/log'

/** How somebody asks for the right; undefined where it was not to be had. */
export type Acquire = (actor: Actor, lostOn: LossPolicy) => Promise<Held | undefined>

/** Contenders for something that one holds at a time. */
export class ExclusiveWorkload implements Workload {
  private readonly stage: Stage
  private readonly acquire: Acquire
  private readonly parent: string
  private readonly resource: FencedResource
  private readonly log: GuardedLog

  constructor(stage: Stage, name: string, parent: string, acquire: Acquire) {
    this.stage = stage
    this.acquire = acquire
    this.parent = parent
    this.resource = new FencedResource(name, stage)
    this.log = new GuardedLog(logPath, stage)
  }

  async setUp(client: Client): Promise<void> {
    await this.log.setUp(client)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage, resource, log } = this
    const { client, chance, name } = actor
    const lostOn = chance.pick(['suspended', 'expired'] as const)
    const held = await this.acquire(actor, lostOn)
    if (held === undefined) return
    stage.mutant?.held?.(held)
    resource.grant(name, held, client.lastZxid)
    await holdFor(actor, stage, held, lostOn, async () => {
      if (chance.chance(0.5)) sendLate(actor, stage, () => void resource.use(name, held))
      else await log.append(client, held)
    })
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const node = [...tree.keys()].find((one) => one.startsWith(`${this.parent}/`))
    return node === undefined ? undefined : `${node} is left`
  }

  check(): void {
    this.log.check()
  }

  mayStay(node: string): boolean {
    return node === logPath
  }
}

export function lockWorkload(stage: Stage): Workload {
  return new ExclusiveWorkload(stage, 'the lock', path, (actor, lostOn) => {
    const lock = new Lock(actor.client, path, { id: actor.name, lostOn })
    if (!stage.isHealed && actor.chance.chance(0.1)) return lock.tryAcquire()
    return lock.acquire({ ...drawLimits(actor, stage), requeue: actor.chance.chance(0.3) })
  })
}
