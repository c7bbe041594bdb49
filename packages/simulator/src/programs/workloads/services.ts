import { ServiceDiscovery, type Service } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'
import { Opened } from './opened.ts'

const base = '/services'
const service = 'mail'

/** Only offered instances are found, with the number they were offered with; in the end none is. */
export class ServicesWorkload implements Workload {
  private readonly stage: Stage
  private readonly opened: Opened<Service<number>>
  /** By the id of the instance. */
  private readonly offers = new Map<string, number>()

  constructor(stage: Stage) {
    this.stage = stage
    this.opened = new Opened(stage, 'the service')
  }

  begin(actor: Actor): void {
    const check = Number
    this.opened.open(
      actor,
      new ServiceDiscovery(actor.client, base).discover<number>(service, { check }),
      (found) => found.onChange((instances) => instances.forEach((one) => this.see(actor, one))),
    )
  }

  async turn(actor: Actor): Promise<void> {
    const { client, chance, process, name } = actor
    const found = this.opened.get(name)
    const limits = drawLimits(actor, this.stage)
    if (!this.stage.isHealed && found !== undefined && chance.chance(0.4)) {
      const timeoutMs = chance.between(1, 2000)
      this.see(actor, await found.chosen({ timeoutMs, ...limits }))
      this.stage.count('chosen')
      return
    }
    const payload = this.offers.size + 1
    const id = `${name}-${payload}`
    this.offers.set(id, payload)
    const offer = { name: service, id, payload }
    const registration = await new ServiceDiscovery(client, base).register(offer, limits)
    this.stage.count('offered')
    try {
      if (this.stage.isHealed) await this.findOwn(actor, id)
      await process.sleep(chance.next() * chance.pick([20, 200, this.stage.isHealed ? 20 : 3000]))
    } finally {
      await registration.release()
    }
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const there = [...tree.keys()].find((node) => node.startsWith(`${base}/${service}/`))
    if (there !== undefined) return `${there} is left`
    return this.opened.unrest(({ current, signal }, name) => {
      if (signal.aborted) return `what ${name} follows has ended`
      return current.length === 0 ? undefined : `${name} takes ${current[0]!.id} for an instance`
    })
  }

  /** After everything is healed, an offered instance must be found. */
  private async findOwn({ name }: Actor, id: string): Promise<void> {
    const isOwn = (one: { readonly id: string }): boolean => one.id === id
    await this.opened.get(name)?.until((instances) => instances.some(isOwn))
  }

  private see({ name }: Actor, { id, payload }: { id: string; payload: number | null }): void {
    if (this.offers.get(id) !== payload)
      this.stage.violate(`${name} finds ${id} with ${payload}, which nobody has offered`)
  }
}
