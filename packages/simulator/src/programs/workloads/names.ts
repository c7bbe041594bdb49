import { text } from '@zabra/client'
import { NameService } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const path = '/names'
const namesMax = 8

/** The value of one name, as reported to programs. */
interface Named {
  readonly name: string
  /** The value that a program bound successfully. */
  bound: string | undefined
  found: string | undefined
}

/** A name is bound once, whoever tries; and all programs see the same value. */
export class NamesWorkload implements Workload {
  private readonly stage: Stage
  private readonly names: Named[] = []
  private readonly tried = new Set<string>()

  constructor(stage: Stage) {
    this.stage = stage
  }

  async turn(actor: Actor): Promise<void> {
    const { client, chance } = actor
    const service = new NameService(client, path, { codec: text })
    const { names, stage } = this
    if (names.length === 0 || (names.length < namesMax && chance.chance(0.2))) this.invent(actor)
    const act = stage.isHealed ? 'resolve' : chance.pick(['bind', 'lookup', 'resolve'] as const)
    const limits = drawLimits(actor, stage)
    if (act === 'resolve') {
      // After everything is healed, each name is bound by a program that waits for it.
      const named = chance.pick(names)
      const timeoutMs = chance.between(1, 1000)
      if (stage.isHealed) await this.bind(service, named, actor, limits)
      const options = stage.isHealed ? {} : { timeoutMs, ...limits }
      this.find(actor, named, await service.resolve(named.name, options))
    } else if (act === 'bind') await this.bind(service, chance.pick(names), actor, limits)
    else {
      const named = chance.pick(names)
      const value = await service.lookup(named.name, limits)
      if (value !== undefined) this.find(actor, named, value)
      stage.count(value === undefined ? 'not bound yet' : 'looked up')
    }
  }

  unrest(): string | undefined {
    return this.stage.tree() === undefined ? 'no server serves' : undefined
  }

  check(): void {
    const tree = this.stage.tree()
    for (const { name, bound, found } of this.names) {
      const data = tree?.get(`${path}/${name}`)?.data
      const told = bound ?? found
      if (told !== undefined && data !== told)
        this.stage.violate(`${name} stands for ${data}, and somebody was told ${told}`)
    }
  }

  mayStay(node: string): boolean {
    return node === path || node.startsWith(`${path}/`)
  }

  private invent({ chance }: Actor): void {
    const { length } = this.names
    const name = chance.chance(0.5) ? `n${length}` : `folder/n${length}`
    this.names.push({ name, bound: undefined, found: undefined })
  }

  private async bind(
    service: NameService<string>,
    named: Named,
    actor: Actor,
    limits: object,
  ): Promise<void> {
    const value = `${actor.name} ${this.tried.size}`
    this.tried.add(value)
    const isBound = await service.bind(named.name, value, limits)
    this.stage.count(isBound ? 'bound' : 'bound by another')
    if (!isBound) return
    const { bound } = named
    if (bound !== undefined)
      this.stage.violate(`${named.name} is bound to ${bound}, and to ${value} as well`)
    named.bound = value
    this.find(actor, named, value)
  }

  private find({ name }: Actor, named: Named, value: string): void {
    const { found } = named
    if (!this.tried.has(value)) this.stage.violate(`${name} finds ${value}, which nobody has bound`)
    if (found !== undefined && found !== value)
      this.stage.violate(`${named.name} stands for ${found}, and for ${name} for ${value}`)
    named.found = value
  }
}
