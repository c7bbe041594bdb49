import type { Client } from '@zabra/client'
import type { Held, LossPolicy } from '@zabra/recipes'
import type { Random } from '../../world/random.ts'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { deleteFirst, drawLimits, holdFor, leftBelow, sendLate } from './holding.ts'
import { Rights, type RightsOptions, type Sharing } from './rights.ts'

const logPath = '/log'

/** A granted right. */
export interface Prize {
  readonly held: Held
  readonly sharing?: Sharing | undefined
  readonly permits?: number | undefined
  readonly isTokenOlder?: boolean | undefined
  /** If several are held at once: each by its path. */
  readonly parts?: ReadonlyMap<string, Held> | undefined
}

/** Asks for the right; returns undefined if it was not available. */
export type Ask = (
  actor: Actor,
  options: ReturnType<typeof drawLimits> & { readonly lostOn: LossPolicy },
) => Promise<Prize | undefined>

export interface ContestOptions extends RightsOptions {
  /** For messages. */
  readonly name: string
  /** The path of its nodes: none may remain when no program wants it any more. */
  readonly path: string
  readonly ask: Ask
  /** If several can be held at once: the paths of all. */
  readonly parts?: readonly string[] | undefined
  /** Whether an outsider sometimes deletes a node. */
  readonly isDisturbed?: boolean | undefined
  readonly begin?: ((actor: Actor) => void) | undefined
  readonly unrest?: (() => string | undefined) | undefined
}

/** Programs that contend for something that one, or a few, may hold at a time. */
export class Contest implements Workload {
  private readonly stage: Stage
  private readonly options: ContestOptions
  private readonly rights: ReadonlyMap<string, Rights>
  private readonly logs: ReadonlyMap<string, GuardedLog>

  constructor(stage: Stage, options: ContestOptions) {
    this.stage = stage
    this.options = options
    const parts = options.parts ?? [options.path]
    this.rights = new Map(parts.map((part) => [part, new Rights(options.name, stage, options)]))
    this.logs = new Map(
      parts.map((part, i) => [part, new GuardedLog(i === 0 ? logPath : `${logPath}-${i}`, stage)]),
    )
  }

  async setUp(client: Client): Promise<void> {
    for (const log of this.logs.values()) await log.setUp(client)
  }

  begin(actor: Actor): void {
    this.options.begin?.(actor)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage, options } = this
    const { client, chance, name } = actor
    if (options.isDisturbed === true && !stage.isHealed && chance.chance(0.05))
      await deleteFirst(actor, stage, pickOne(chance, [...this.rights.keys()]))
    const lostOn = chance.pick(['suspended', 'expired'] as const)
    const prize = await options.ask(actor, { ...drawLimits(actor, stage), lostOn })
    if (prize === undefined) return
    const { held, sharing = 'alone', permits = 1, isTokenOlder } = prize
    const parts = prize.parts ?? new Map([[options.path, held]])
    stage.mutant?.held?.(held)
    const seenZxid = client.lastZxid
    for (const [part, own] of parts) {
      const grant = { holder: name, held: own, sharing, permits, isTokenOlder, seenZxid }
      this.rights.get(part)!.grant(grant)
    }
    await holdFor(actor, stage, held, lostOn, async () => {
      const [part, own] = pickOne(chance, [...parts])
      if (sharing === 'alone' && options.permitsMax === undefined && chance.chance(0.5))
        await this.logs.get(part)!.append(client, held, own)
      else sendLate(actor, stage, () => this.use(name, part, own, sharing))
    })
  }

  unrest(): string | undefined {
    const { stage, options } = this
    return leftBelow(stage, options.path) ?? options.unrest?.()
  }

  check(): void {
    for (const log of this.logs.values()) log.check()
  }

  mayStay(path: string): boolean {
    return path.startsWith(logPath)
  }

  private use(name: string, part: string, held: Held, sharing: Sharing): void {
    if (this.options.permitsMax === undefined) this.rights.get(part)!.use(name, held, sharing)
  }
}

/** Draws a random number only if there is a choice. */
function pickOne<T>(chance: Random, all: readonly T[]): T {
  return all.length === 1 ? all[0]! : chance.pick(all)
}
