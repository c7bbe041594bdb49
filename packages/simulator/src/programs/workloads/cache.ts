import { isRefusal, type Client } from '@zabra/client'
import { decodeText } from '@zabra/protocol'
import { TreeCache, type TreeCacheOptions } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { Opened } from './opened.ts'

const path = '/cache'
const names = ['a', 'b', 'c'] as const
const twins = [`${path}/left`, `${path}/right`] as const

/** The part of the tree that a cache has: always the twins, and what its program writes itself. */
interface Part extends Pick<TreeCacheOptions, 'depthMax' | 'include'> {
  readonly has: (node: string) => boolean
}

const isLeftOut = (node: string): boolean => node === `${path}/b` || node.startsWith(`${path}/b/`)
const parts: readonly Part[] = [
  { has: () => true },
  { has: (node) => node.split('/').length <= 3, depthMax: 1 },
  { has: (node) => !isLeftOut(node), include: (node) => node !== `${path}/b` },
]

/** Caches show the tree as of one moment, and in the end its final state. */
export class TreeCacheWorkload implements Workload {
  private readonly stage: Stage
  private readonly caches: Opened<TreeCache>
  private readonly parts = new Map<TreeCache, Part>()
  private writes = 0

  constructor(stage: Stage) {
    this.stage = stage
    this.caches = new Opened(stage, 'the tree')
  }

  async setUp(client: Client): Promise<void> {
    await client.create(path)
    for (const twin of twins) await client.create(twin, '0')
  }

  begin(actor: Actor): void {
    // Patient enough that it always shows one moment.
    const part = actor.chance.pick(parts)
    const { depthMax, include } = part
    const opening = TreeCache.open(actor.client, path, { patienceMs: 1e9, depthMax, include })
    this.caches.open(actor, opening, (cache) => {
      this.parts.set(cache, part)
      this.checkTwins(actor.name)
      cache.onChange((changes) => {
        this.stage.count('changes of caches', changes.length)
        this.checkTwins(actor.name)
      })
    })
  }

  async turn(actor: Actor): Promise<void> {
    const { client, chance, name } = actor
    const data = `${++this.writes}`
    const one = `${path}/${chance.pick(names)}`
    const other = `${one}/${chance.pick(names)}`
    const act = chance.pick(['twins', 'twins', 'create', 'set', 'delete', 'sync'] as const)
    this.stage.count(`op: ${act}`)
    try {
      if (act === 'twins')
        await client.transaction().set(twins[0], data).set(twins[1], data).commit()
      else if (act === 'create') await client.create(chance.pick([one, other]), data)
      else if (act === 'set') await client.set(chance.pick([one, other]), data)
      else if (act === 'delete') await client.delete(chance.pick([one, other]))
      else await this.readOwnWrite(actor, data)
    } catch (error) {
      if (!isRefusal(error, 'noNode', 'nodeExists', 'notEmpty')) throw error
    }
    this.checkTwins(name)
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    return this.caches.unrest((cache, name) => {
      if (cache.signal.aborted)
        return `the cache of ${name} has ended: ${String(cache.signal.reason)}`
      const { has } = this.parts.get(cache)!
      const nodes = new Map([...cache].map((node) => [node.path, decodeText(node.data)]))
      for (const [at, { data }] of tree) {
        if (isInside(at) && has(at) && nodes.get(at) !== data)
          return `${name} has ${at} as ${nodes.get(at)}, it is ${data}`
      }
      const extra = [...nodes.keys()].find((at) => !tree.has(at) || !has(at))
      return extra === undefined ? undefined : `${name} has ${extra}, which is gone or left out`
    })
  }

  mayStay(node: string): boolean {
    return isInside(node)
  }

  /** Everything committed before a sync is visible after it. */
  private async readOwnWrite({ client, name }: Actor, data: string): Promise<void> {
    const cache = this.caches.get(name)
    if (cache === undefined) return
    const at = `${path}/own-${name}`
    const isThere = cache.get(at) !== undefined
    const { mzxid } = isThere ? await client.set(at, data) : (await client.create(at, data)).stat
    await cache.sync()
    const seen = cache.get(at)?.stat.mzxid
    if (seen === undefined || seen < mzxid)
      this.stage.violate(`${name} has synced its cache, and ${at} is ${seen}, not ${mzxid}`)
  }

  private checkTwins(name: string): void {
    const cache = this.caches.get(name)
    if (cache === undefined) return
    const [left, right] = twins.map((twin) => cache.get(twin)?.stat.mzxid)
    // They are created one after the other, then always written together.
    if (left !== right && decodeText(cache.get(twins[0])!.data) !== '0')
      this.stage.violate(`${name} sees ${left} and ${right} of what was written together`)
  }
}

function isInside(node: string): boolean {
  return node === path || node.startsWith(`${path}/`)
}
