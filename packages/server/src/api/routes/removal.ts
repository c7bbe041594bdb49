import { anyVersion, codes, errorCodes, type MultiOp } from '@zabra/protocol'
import { ApiError, badRequest, isRefused, Refused } from '../api-error.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
import { boolean, integer, object, text } from '../schema.ts'
import { statOf, walk } from '../tree.ts'
import { withNodeOnConflict } from './changes.ts'

/** A subtree with more znodes is not deleted by one request. */
const nodesMax = 100_000
/** Number of znodes deleted in one transaction. */
const batchMax = 500

interface Impact {
  readonly nodes: number
  readonly bytes: number
  readonly ephemerals: number
  readonly unreadable: number
  /** Parents first. */
  readonly paths: readonly string[]
}

export const removal: readonly Route[] = [
  {
    method: 'DELETE',
    path: '/node',
    summary: 'Deletes a znode, or with recursive a subtree, children first',
    role: 'write',
    parameters: {
      path: pathParameter,
      version: { kind: 'integer', description: 'The version of the znode', minimum: -1 },
      recursive: { kind: 'flag', description: 'Delete everything below it, too' },
      dryRun: { kind: 'flag', description: 'Only return what would be deleted' },
    },
    answer: object({
      path: text,
      isDone: boolean,
      nodes: integer,
      bytes: integer,
      ephemerals: integer,
      unreadable: integer,
    }),
    errors: [404, 409],
    handle: remove,
  },
]

async function remove(call: Call): Promise<unknown> {
  const { client, query, signal } = call
  const path = query.path()
  if (path === '/') throw badRequest('The root cannot be deleted', path)
  const isRecursive = query.flag('recursive')
  const version = query.integer('version') ?? anyVersion
  const impact = await impactOf(client, path, isRecursive, signal)
  const { paths, ...counts } = impact
  if (query.flag('dryRun')) return { path, isDone: false, ...counts }
  if (!isRecursive) {
    await withNodeOnConflict(call, path, client.call('delete', { path, version }))
    return { path, isDone: true, ...counts }
  }
  if (impact.unreadable > 0) {
    const message = `${impact.unreadable} znodes below it do not show their children; nothing was deleted`
    throw new ApiError(403, 'noAuth', message, path)
  }
  await removeAll(call, path, version, paths)
  return { path, isDone: true, ...counts }
}

/** Small subtrees are deleted atomically; of large ones a part may be gone when an error occurs. */
async function removeAll(
  call: Call,
  top: string,
  version: number,
  paths: readonly string[],
): Promise<void> {
  const { client, signal } = call
  let removed = 0
  for (let end = paths.length; end > 0; end -= batchMax) {
    signal.throwIfAborted()
    const batch = paths.slice(Math.max(0, end - batchMax), end).toReversed()
    const operations = batch.map((path): MultiOp => {
      return { type: codes.delete, request: { path, version: path === top ? version : anyVersion } }
    })
    const results = await client.call('multi', operations)
    const failed = results.findIndex(
      ({ err }) => err !== errorCodes.ok && err !== errorCodes.runtimeInconsistency,
    )
    if (failed >= 0) {
      const refused = Promise.reject(new Refused(results[failed]!.err))
      const known = removed === 0 ? 'nothing was deleted' : `${removed} of ${paths.length} are gone`
      await withNodeOnConflict(call, batch[failed]!, refused).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw partly(results[failed]!.err, batch[failed]!, known)
        throw error
      })
    }
    removed += batch.length
  }
}

function partly(err: number, path: string, known: string): ApiError {
  const isAuth = err === errorCodes.noAuth
  return new ApiError(
    isAuth ? 403 : 409,
    isAuth ? 'noAuth' : err === errorCodes.notEmpty ? 'notEmpty' : 'conflict',
    `${path} could not be deleted; ${known}`,
    path,
  )
}

async function impactOf(
  client: Call['client'],
  top: string,
  isRecursive: boolean,
  signal: AbortSignal,
): Promise<Impact> {
  const paths: string[] = []
  let [bytes, ephemerals, unreadable] = [0, 0, 0]
  const count = async (path: string): Promise<void> => {
    const stat = await statOf(client, path)
    if (stat === undefined) return
    paths.push(path)
    if (stat === 'hidden') return
    bytes += stat.dataLength
    if (stat.ephemeralOwner !== 0n) ephemerals++
  }
  const topStat = await statOf(client, top)
  if (topStat === undefined) throw new Refused(errorCodes.noNode)
  if (!isRecursive) {
    await count(top)
    return { nodes: paths.length, bytes, ephemerals, unreadable, paths }
  }
  try {
    for await (const walked of walk(client, top)) {
      signal.throwIfAborted()
      await count(walked.path)
      if (walked.isUnreadable) unreadable++
      if (paths.length > nodesMax) {
        const message = `There are more than ${nodesMax} znodes; delete parts of it first`
        throw new ApiError(409, 'tooMany', message, top)
      }
    }
  } catch (error) {
    if (isRefused(error, 'noNode')) throw new Refused(errorCodes.noNode)
    throw error
  }
  return { nodes: paths.length, bytes, ephemerals, unreadable, paths }
}
