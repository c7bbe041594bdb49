import { isRefusal, type Client } from '@zabra/client'
import type { Held, LossPolicy } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { drawLimits, holdFor, sendLate } from './holding.ts'
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
      await this.disturb(actor)
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
    const tree = stage.tree()
    if (tree === undefined) return 'no server serves'
    const inside = [...tree].filter(([path]) => path.startsWith(`${options.path}/`))
    // The containers in it stay a little longer.
    const node = inside.find(([, { stat }]) => stat.ephemeralOwner !== 0n)
    return node === undefined ? options.unrest?.() : `${node[0]} is left`
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

  /** Somebody deletes the node of whoever comes first. */
  private async disturb({ client, name }: Actor): Promise<void> {
    const { path } = this.options
    const children = await client.children(path).catch((error: unknown) => {
      if (isRefusal(error, 'noNode')) return []
      throw error
    })
    const first = children
      .filter((child) => !child.startsWith('holder-'))
      .toSorted((a, b) => (a.slice(-10) < b.slice(-10) ? -1 : 1))[0]
    if (first === undefined) return
    this.stage.trace(`${name} deletes ${path}/${first}`)
    this.stage.count('nodes deleted from outside')
    await client.delete(`${path}/${first}`).catch((error: unknown) => {
      if (!isRefusal(error, 'noNode')) throw error
    })
  }
}
