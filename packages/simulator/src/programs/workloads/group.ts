import { text } from '@zabra/client'
import { Group, type Live, type Members } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'
import { Opened } from './opened.ts'

const path = '/group'

/**
 * Members that join, survive their sessions and leave; in the end all programs know the members.
 */
export class GroupWorkload implements Workload {
  private readonly stage: Stage
  private readonly known: Opened<Live<Members<string>>>
  private writes = 0

  constructor(stage: Stage) {
    this.stage = stage
    this.known = new Opened(stage, 'the group')
  }

  begin(actor: Actor): void {
    this.known.open(actor, new Group(actor.client, path, { codec: text }).watch())
  }

  async turn(actor: Actor): Promise<void> {
    const { client, chance, process, name } = actor
    const data = `${++this.writes}`
    const options = { name, ...drawLimits(actor, this.stage) }
    const membership = await new Group(client, path, { codec: text }).join(data, options)
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
    return this.known.unrest(({ current }, name) => {
      if (current.size === 0) return undefined
      return `${name} takes ${[...current.keys()].join()} for members`
    })
  }
}
