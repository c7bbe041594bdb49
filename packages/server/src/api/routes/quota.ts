import { errorCodes, joinPath, parentOf } from '@zabra/protocol'
import { ApiError, isRefused, Refused } from '../api-error.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
import { boolean, integer, nullable, object, text, type Schema } from '../schema.ts'
import { openAcl } from '../shapes.ts'
import { statOf } from '../tree.ts'

const root = '/zookeeper/quota'
const limitsName = 'zookeeper_limits'
const statsName = 'zookeeper_stats'

const limit: Schema = { type: 'integer', minimum: -1, maximum: Number.MAX_SAFE_INTEGER }
const limits = { count: limit, bytes: limit, countHardLimit: limit, byteHardLimit: limit }
const answer = object({
  path: text,
  limits: nullable(object(limits)),
  used: nullable(object({ count: integer, bytes: integer })),
  isEnforced: boolean,
})

interface Limits {
  readonly count: number
  readonly bytes: number
  readonly countHardLimit: number
  readonly byteHardLimit: number
}

/** Quotas, where ZooKeeper keeps them: below `/zookeeper/quota`. */
export const quota: readonly Route[] = [
  {
    method: 'GET',
    path: '/quota',
    summary: 'The quota of a znode and what is used of it; null where it has none',
    role: 'metadata',
    parameters: { path: pathParameter },
    answer,
    errors: [404],
    handle: read,
  },
  {
    method: 'PUT',
    path: '/quota',
    summary:
      'Sets the quota of a znode; -1 is no limit. The hard limits are refusals where enforceQuota is on, the others warnings in the log',
    role: 'write',
    parameters: { path: pathParameter },
    body: object(limits),
    answer,
    errors: [404, 409],
    handle: write,
  },
  {
    method: 'DELETE',
    path: '/quota',
    summary: 'Removes the quota of a znode',
    role: 'write',
    parameters: { path: pathParameter },
    answer,
    errors: [404],
    handle: remove,
  },
]

const folderOf = (path: string): string => (path === '/' ? root : `${root}${path}`)

async function read({ client, query, view }: Call): Promise<unknown> {
  const path = query.path()
  if ((await statOf(client, path)) === undefined) throw new Refused(errorCodes.noNode)
  const folder = folderOf(path)
  const [found, used] = await Promise.all(
    [limitsName, statsName].map((name) => numbersAt(client, joinPath(folder, name))),
  )
  const numberOf = (name: string): number => found?.[name] ?? -1
  return {
    path,
    limits:
      found === undefined
        ? null
        : {
            count: numberOf('count'),
            bytes: numberOf('bytes'),
            countHardLimit: numberOf('countHardLimit'),
            byteHardLimit: numberOf('byteHardLimit'),
          },
    used: used === undefined ? null : { count: used['count'] ?? 0, bytes: used['bytes'] ?? 0 },
    isEnforced: view.config.enforceQuota,
  }
}

async function write(call: Call): Promise<unknown> {
  const { client, query, body } = call
  const path = query.path()
  if ((await statOf(client, path)) === undefined) throw new Refused(errorCodes.noNode)
  const folder = folderOf(path)
  const place = joinPath(folder, limitsName)
  const data = Buffer.from(formatted(body as Limits))
  if ((await statOf(client, place)) !== undefined) {
    await client.call('setData', { path: place, data, version: -1 })
    return read(call)
  }
  await checkNesting(client, path)
  for (const each of foldersTo(folder)) await ensure(client, each)
  await client.call('create', { path: place, data, acl: openAcl, flags: 0 })
  // The server counts only if there are limits, and stores the sums here.
  const none = { count: 0, bytes: 0, countHardLimit: -1, byteHardLimit: -1 }
  const stats = { path: joinPath(folder, statsName), data: Buffer.from(formatted(none)) }
  await client
    .call('create', { ...stats, acl: openAcl, flags: 0 })
    .catch(unlessRefused('nodeExists'))
  return read(call)
}

async function remove(call: Call): Promise<unknown> {
  const { client, query } = call
  const folder = folderOf(query.path())
  for (const name of [limitsName, statsName]) {
    const path = joinPath(folder, name)
    await client.call('delete', { path, version: -1 }).catch(unlessRefused('noNode'))
  }
  // Ancestors remain while there are quotas below them.
  for (let path = folder; path !== root; path = parentOf(path)) {
    try {
      await client.call('delete', { path, version: -1 })
    } catch (error) {
      if (isRefused(error, 'notEmpty')) break
      if (!isRefused(error, 'noNode')) throw error
    }
  }
  return read(call)
}

/** In ZooKeeper's format: the fields that older releases know come first. */
function formatted({ count, bytes, countHardLimit, byteHardLimit }: Limits): string {
  return `count=${count},bytes=${bytes}=;byteHardLimit=${byteHardLimit};countHardLimit=${countHardLimit}`
}

/** Neither ZooKeeper nor zabra counts a znode for two quotas. */
async function checkNesting(client: Call['client'], path: string): Promise<void> {
  for (let above = path; above !== '/';) {
    above = parentOf(above)
    if (above !== '/' && (await statOf(client, `${root}${above}/${limitsName}`)) !== undefined) {
      throw nested(path, `${above} above it has a quota`)
    }
  }
  const waiting = [folderOf(path)]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const { children } = await client
      .call('getChildren', { path: folder, watch: false })
      .catch(unlessRefused('noNode', { children: [] as string[] }))
    if (children.includes(limitsName) && folder !== root) {
      throw nested(path, `${folder.slice(root.length)} below it has a quota`)
    }
    const below = children.filter((name) => name !== limitsName && name !== statsName)
    for (const name of below) waiting.push(joinPath(folder, name))
  }
}

function nested(path: string, why: string): ApiError {
  return new ApiError(409, 'quotaNested', `Quotas do not nest: ${why}`, path)
}

function foldersTo(folder: string): string[] {
  const folders: string[] = []
  for (let at = folder; at !== root; at = parentOf(at)) folders.unshift(at)
  return folders
}

async function ensure(client: Call['client'], path: string): Promise<void> {
  await client
    .call('create', { path, data: null, acl: openAcl, flags: 0 })
    .catch(unlessRefused('nodeExists'))
}

/** Returns a value instead of throwing one particular error. */
function unlessRefused<T = undefined>(
  name: keyof typeof errorCodes,
  instead?: T,
): (error: unknown) => T {
  return (error) => {
    if (!isRefused(error, name)) throw error
    return instead as T
  }
}

async function numbersAt(
  client: Call['client'],
  path: string,
): Promise<Readonly<Record<string, number>> | undefined> {
  try {
    const { data } = await client.call('getData', { path, watch: false })
    const pairs = Buffer.from(data ?? [])
      .toString()
      .matchAll(/(\w+)=(-?\d+)/g)
    return Object.fromEntries(Array.from(pairs, ([, name = '', value]) => [name, Number(value)]))
  } catch (error) {
    if (isRefused(error, 'noNode')) return undefined
    throw error
  }
}
