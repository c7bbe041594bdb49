import type { Client } from '@zabra/client'
import type { Held, LossPolicy } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { deleteFirst, drawLimits, holdFor, leftBelow, sendLate } from './holding.ts'
import { Rights, type RightsOptions, type Sharing } from './rights.ts'

const logPath = '/log'

/** What somebody was given. */
export interface Prize {
  readonly held: Held
  readonly sharing?: Sharing | undefined
  readonly permits?: number | undefined
}

/** How somebody asks for it; undefined where it was not to be had. */
export type Ask = (
  actor: Actor,
  options: ReturnType<typeof drawLimits> & { readonly lostOn: LossPolicy },
) => Promise<Prize | undefined>

export interface ContestOptions extends RightsOptions {
  /** For people. */
  readonly name: string
  /** Where its nodes are: none of them may be left when nobody wants anything any more. */
  readonly path: string
  readonly ask: Ask
  /** Now and then somebody from outside deletes a node. */
  readonly isDisturbed?: boolean | undefined
  readonly begin?: ((actor: Actor) => void) | undefined
  readonly unrest?: (() => string | undefined) | undefined
}

/** Contenders for something that one, or few, may hold at a time. */
export class Contest implements Workload {
  private readonly stage: Stage
  private readonly options: ContestOptions
  private readonly rights: Rights
  private readonly log: GuardedLog

  constructor(stage: Stage, options: ContestOptions) {
    this.stage = stage
    this.options = options
    this.rights = new Rights(options.name, stage, options)
    this.log = new GuardedLog(logPath, stage)
  }

  async setUp(client: Client): Promise<void> {
    await this.log.setUp(client)
  }

  begin(actor: Actor): void {
    this.options.begin?.(actor)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage, rights, log, options } = this
    const { client, chance, name } = actor
    if (options.isDisturbed === true && !stage.isHealed && chance.chance(0.05))
      await deleteFirst(actor, stage, options.path)
    const lostOn = chance.pick(['suspended', 'expired'] as const)
    const prize = await options.ask(actor, { ...drawLimits(actor, stage), lostOn })
    if (prize === undefined) return
    const { held, sharing = 'alone', permits = 1 } = prize
    stage.mutant?.held?.(held)
    rights.grant({ holder: name, held, sharing, permits, seenZxid: client.lastZxid })
    await holdFor(actor, stage, held, lostOn, async () => {
      if (sharing === 'alone' && options.permitsMax === undefined && chance.chance(0.5))
        await log.append(client, held)
      else sendLate(actor, stage, () => this.use(name, held, sharing))
    })
  }

  unrest(): string | undefined {
    const { stage, options } = this
    return leftBelow(stage, options.path) ?? options.unrest?.()
  }

  check(): void {
    this.log.check()
  }

  mayStay(path: string): boolean {
    return path === logPath
  }

  private use(name: string, held: Held, sharing: Sharing): void {
    if (this.options.permitsMax === undefined) this.rights.use(name, held, sharing)
  }
}
