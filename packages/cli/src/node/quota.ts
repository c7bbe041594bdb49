import { isRefusal, type Client } from '@zabra/client'
import { textOf } from './data.ts'
import { joinPath, parentOf } from './paths.ts'

/** A quota; -1 is no limit. The hard ones are enforced by servers with `enforceQuota=true`. */
export interface Limits {
  readonly count: number
  readonly bytes: number
  readonly countHardLimit: number
  readonly byteHardLimit: number
}

export interface Used {
  readonly count: number
  readonly bytes: number
}

export interface Quota {
  readonly path: string
  readonly limits: Limits
  readonly used: Used
}

/** Quotas do not nest, and need a node. */
export class QuotaError extends Error {
  override readonly name = 'QuotaError'
}

const root = '/zookeeper/quota'
const limitsName = 'zookeeper_limits'
const statsName = 'zookeeper_stats'
const noLimits: Limits = { count: -1, bytes: -1, countHardLimit: -1, byteHardLimit: -1 }

const folderOf = (path: string): string => (path === '/' ? root : root + path)

export function limitsPath(path: string): string {
  return joinPath(folderOf(path), limitsName)
}

/** As ZooKeeper writes them: what older releases know first. */
export function formatLimits({ count, bytes, countHardLimit, byteHardLimit }: Limits): string {
  return `count=${count},bytes=${bytes}=;byteHardLimit=${byteHardLimit};countHardLimit=${countHardLimit}`
}

function parseNumbers(text: string): Readonly<Record<string, number>> {
  const pairs = [...text.matchAll(/(\w+)=(-?\d+)/g)].map(([, name = '', value]) => [
    name,
    Number(value),
  ])
  return Object.fromEntries(pairs) as Record<string, number>
}

function parseLimits(text: string): Limits {
  return { ...noLimits, ...parseNumbers(text) }
}

async function textAt(client: Client, path: string): Promise<string | undefined> {
  try {
    return textOf((await client.get(path)).data) ?? ''
  } catch (error) {
    if (isRefusal(error, 'noNode')) return undefined
    throw error
  }
}

/** The quota of this very node. */
export async function readQuota(client: Client, path: string): Promise<Quota | undefined> {
  const [limits, stats] = await Promise.all([
    textAt(client, limitsPath(path)),
    textAt(client, joinPath(folderOf(path), statsName)),
  ])
  if (limits === undefined) return undefined
  const { count = 0, bytes = 0 } = parseNumbers(stats ?? '')
  return { path, limits: parseLimits(limits), used: { count, bytes } }
}

/** Changes some limits and keeps the others. */
export async function changeQuota(
  client: Client,
  path: string,
  change: Partial<Limits>,
): Promise<Quota> {
  if ((await client.exists(path)) === undefined) throw new QuotaError(`${path} does not exist.`)
  const before = await readQuota(client, path)
  if (before === undefined) {
    await checkNesting(client, path)
    const folder = folderOf(path)
    await client.ensure(folder)
    const limits = { ...noLimits, ...change }
    await client.create(limitsPath(path), formatLimits(limits))
    // The server counts once the limits exist, and keeps the sums here.
    await client.create(
      joinPath(folder, statsName),
      formatLimits({ ...noLimits, count: 0, bytes: 0 }),
    )
  } else {
    await client.set(limitsPath(path), formatLimits({ ...before.limits, ...change }))
  }
  return (
    (await readQuota(client, path)) ?? {
      path,
      limits: { ...noLimits, ...change },
      used: { count: 0, bytes: 0 },
    }
  )
}

async function checkNesting(client: Client, path: string): Promise<void> {
  for (let above = path; above !== '/';) {
    above = parentOf(above)
    if (above !== '/' && (await client.exists(limitsPath(above))) !== undefined)
      throw new QuotaError(`${path} has a parent ${above} which has a quota`)
  }
  const below = await quotaBelow(client, folderOf(path))
  if (below !== undefined)
    throw new QuotaError(`${path} has a child ${below.slice(root.length)} which has a quota`)
}

async function quotaBelow(client: Client, folder: string): Promise<string | undefined> {
  const children = await client.children(folder).catch((error: unknown): string[] => {
    if (isRefusal(error, 'noNode')) return []
    throw error
  })
  if (children.includes(limitsName)) return folder
  for (const name of children) {
    const found = await quotaBelow(client, joinPath(folder, name))
    if (found !== undefined) return found
  }
  return undefined
}

/** Takes limits away, all of them without a choice; answers whether there was a quota. */
export async function deleteQuota(
  client: Client,
  path: string,
  chosen: readonly (keyof Limits)[],
): Promise<boolean> {
  const quota = await readQuota(client, path)
  if (quota === undefined) return false
  const limits: Limits = {
    ...quota.limits,
    ...Object.fromEntries(chosen.map((name) => [name, -1])),
  }
  if (chosen.length > 0) {
    await client.set(limitsPath(path), formatLimits(limits))
    return true
  }
  await client.deleteTree(joinPath(folderOf(path), limitsName))
  await client.deleteTree(joinPath(folderOf(path), statsName))
  await trim(client, folderOf(path))
  return true
}

/** The folders above, where no other quota needs them. */
async function trim(client: Client, folder: string): Promise<void> {
  for (let at = folder; at !== root; at = parentOf(at)) {
    try {
      await client.delete(at)
    } catch (error) {
      if (isRefusal(error, 'notEmpty')) return
      if (!isRefusal(error, 'noNode')) throw error
    }
  }
}

/** Every quota there is. */
export async function allQuotas(client: Client): Promise<Quota[]> {
  const quotas: Quota[] = []
  const look = async (folder: string): Promise<void> => {
    const children = await client.children(folder).catch((error: unknown): string[] => {
      if (isRefusal(error, 'noNode')) return []
      throw error
    })
    if (children.includes(limitsName)) {
      const quota = await readQuota(client, folder.slice(root.length) || '/')
      if (quota !== undefined) quotas.push(quota)
      return
    }
    for (const name of children.toSorted()) await look(joinPath(folder, name))
  }
  await look(root)
  return quotas
}
