import { isRefusal, text, type Client } from '@zabra/client'
import { PersistentNode, PersistentTtlNode } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'
import { Opened } from './opened.ts'

const folder = '/persistent'
const ttlFolder = '/persistent-ttl'
const ttlMs = 3000
const openAgainMs = 500

/** A node that a program keeps, and the values that it may have in the end. */
interface Kept {
  readonly path: string
  readonly node: PersistentNode<string> | PersistentTtlNode<string>
  /** Several after an update whose outcome is unknown. */
  wanted: readonly string[]
}

/**
 * Nodes that exist as long as their programs run, with the last value: after new sessions, and
 * after somebody has deleted them. When the programs have gone, they go.
 */
export class PersistentNodeWorkload implements Workload {
  private readonly stage: Stage
  private readonly kept: Opened<Kept>
  private readonly keptByTtl: Opened<Kept>
  private values = 0

  constructor(stage: Stage) {
    this.stage = stage
    this.kept = new Opened(stage, 'its node')
    this.keptByTtl = new Opened(stage, 'its node with a TTL')
  }

  begin(actor: Actor): void {
    const { client, name } = actor
    const first = this.nextValue()
    const path = `${folder}/${name}`
    const opening = patiently(actor, () =>
      PersistentNode.open(client, path, first, { codec: text }),
    )
    this.kept.open(actor, kept(path, first, opening))
    const ttlPath = `${ttlFolder}/${name}`
    const openingByTtl = patiently(actor, () =>
      PersistentTtlNode.open(client, ttlPath, first, { codec: text, ttlMs }),
    )
    this.keptByTtl.open(actor, kept(ttlPath, first, openingByTtl))
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance, name, process } = actor
    await process.sleep(chance.next() * 100)
    if (!stage.isHealed && chance.chance(0.2)) await this.deleteOne(client, chance.pick([1, 2, 3]))
    for (const opened of [this.kept, this.keptByTtl]) {
      const own = opened.get(name)
      if (own === undefined || own.node.signal.aborted || chance.chance(0.5)) continue
      const value = this.nextValue()
      // An ephemeral node gets the value even if the caller stops waiting.
      own.wanted = own.node instanceof PersistentNode ? [value] : [...own.wanted, value]
      await own.node.update(value, drawLimits(actor, stage))
      own.wanted = [value]
      stage.count('nodes updated')
    }
  }

  unrest(): string | undefined {
    const { stage } = this
    const tree = stage.tree()
    if (tree === undefined) return 'no server serves'
    const look = ({ path, wanted }: Kept, name: string): string | undefined => {
      const found = tree.get(path)
      if (found === undefined) return `the node ${path} of ${name} does not exist`
      if (wanted.includes(found.data ?? '')) return undefined
      return `${path} is ${found.data}, and not ${wanted.join(' or ')}`
    }
    return this.kept.unrest(look) ?? this.keptByTtl.unrest(look)
  }

  /** Somebody deletes the node of a program. */
  private async deleteOne(client: Client, number: number): Promise<void> {
    this.stage.count('nodes deleted from outside')
    await client.delete(`${folder}/program-${number}`).catch((error: unknown) => {
      if (!isRefusal(error, 'noNode')) throw error
    })
  }

  private nextValue(): string {
    return `value-${++this.values}`
  }
}

/** A server whose disk is full refuses to open a node, and the program tries again. */
async function patiently<T>({ client, process }: Actor, open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isRefusal(error, 'systemError') || client.state.name === 'closed') throw error
    }
    await process.sleep(openAgainMs)
  }
}

async function kept(path: string, value: string, opening: Promise<Kept['node']>): Promise<Kept> {
  return { path, wanted: [value], node: await opening }
}
