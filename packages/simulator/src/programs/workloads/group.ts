import { ClosedError, text } from '@zabra/client'
import { joinGroup, watchGroup, type Live, type Members } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const path = '/group'

/** Members that come, outlast their sessions and go; in the end everybody knows who is there. */
export class GroupWorkload implements Workload {
  private readonly stage: Stage
  private readonly known = new Map<string, Live<Members<string>> | undefined>()
  private writes = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  begin({ client, name, process }: Actor): void {
    this.known.set(name, undefined)
    watchGroup(client, path, { codec: text }).then(
      (live) => process.isAlive && this.known.set(name, live),
      (error: unknown) => {
        if (!(error instanceof ClosedError) && client.state.name !== 'closed')
          this.stage.violate(`${name} cannot follow the group: ${String(error)}`)
      },
    )
  }

  async turn(actor: Actor): Promise<void> {
    const { client, chance, process, name } = actor
    const data = `${++this.writes}`
    const options = { codec: text, name, ...drawLimits(actor, this.stage) }
    const membership = await joinGroup(client, path, data, options)
    this.stage.count('joined')
    try {
      await process.sleep(chance.next() * chance.pick([20, 200, this.stage.isHealed ? 20 : 3000]))
      if (chance.chance(0.3)) await membership.update(`${++this.writes}`)
    } finally {
      await membership.release()
    }
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const there = [...tree.keys()].find((node) => node.startsWith(`${path}/`))
    if (there !== undefined) return `${there} is left`
    for (const [name, live] of this.known) {
      if (live === undefined) return `${name} does not know the group yet`
      if (live.current.size > 0)
        return `${name} takes ${[...live.current.keys()].join()} for members`
    }
    return undefined
  }
}
