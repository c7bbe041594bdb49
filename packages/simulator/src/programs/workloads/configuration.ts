import { json } from '@zabra/client'
import { Configuration } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'
import { Opened } from './opened.ts'

const path = '/configurations/one'

/** The number of changes by each program. */
type Changes = Readonly<Record<string, number>>

/** No change is lost or applied twice, no client sees one undone, and in the end all see all. */
export class ConfigurationWorkload implements Workload {
  private readonly stage: Stage
  private readonly opened: Opened<Configuration<Changes>>
  private readonly changed = new Map<string, number>()
  private readonly uncertain = new Map<string, number>()

  constructor(stage: Stage) {
    this.stage = stage
    this.opened = new Opened(stage, 'the configuration')
  }

  begin(actor: Actor): void {
    const opening = Configuration.open(actor.client, path, { codec, fallback: {} })
    this.opened.open(actor, opening, (configuration) => {
      configuration.onChange((now, before) => {
        this.stage.count('changes seen')
        const lost = Object.keys(before).find((name) => (now[name] ?? 0) < before[name]!)
        if (lost !== undefined)
          this.stage.violate(`${actor.name} sees a change of ${lost} taken back`)
      })
    })
  }

  async turn(actor: Actor): Promise<void> {
    const { name, chance, process } = actor
    const configuration = this.opened.get(name)
    if (configuration === undefined) {
      await process.sleep(chance.next() * 50)
      return
    }
    const limits = drawLimits(actor, this.stage)
    this.uncertain.set(name, (this.uncertain.get(name) ?? 0) + 1)
    const change = (all: Changes): Changes => ({ ...all, [name]: (all[name] ?? 0) + 1 })
    const { value } = await configuration.update(change, limits)
    this.uncertain.set(name, this.uncertain.get(name)! - 1)
    this.changed.set(name, (this.changed.get(name) ?? 0) + 1)
    this.stage.count('changed')
    if (chance.chance(0.5))
      await configuration.until((seen) => (seen[name] ?? 0) >= value[name]!, limits)
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const data = tree.get(path)?.data ?? '{}'
    return this.opened.unrest((configuration, name) => {
      if (configuration.signal.aborted) return `what ${name} follows has ended`
      const known = JSON.stringify(configuration.current)
      return known === data ? undefined : `${name} takes ${known} for ${data}`
    })
  }

  check(): void {
    const value = JSON.parse(this.stage.tree()?.get(path)?.data ?? '{}') as Changes
    for (const [name, count] of this.changed) {
      const most = count + this.uncertain.get(name)!
      const found = value[name] ?? 0
      if (found < count || found > most)
        this.stage.violate(`${name} changed it ${count} to ${most} times, and it says ${found}`)
    }
  }

  mayStay(node: string): boolean {
    return node.startsWith('/configurations')
  }
}

const codec = json<Changes>()
