import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  changeKinds,
  History,
  HistoryError,
  nodeAt,
  subtreeAt,
  type Change,
  type ChangeKind,
  type PastNode,
  type Point,
} from '@zabra/core'
import type { ChangeJson, DataJson, PastNodeJson } from '@zabra/protocol'
import { zlibCompression } from '@zabra/server'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { permissionLetters } from '../node/acl-text.ts'
import { nameOf } from '../node/paths.ts'
import { hex, isoTime } from '../node/stat.ts'
import { disk } from '../offline/files.ts'
import { hexOf, pointOf } from '../offline/filters.ts'
import { timeOf } from '../offline/show-transaction.ts'
import type { PastSource } from './source.ts'

const pageMax = 1000

/** The past as the files of a data directory have it; nothing is written there. */
export function filesSource(
  dataDir: string,
  dataLogDir: string | undefined,
  signal: AbortSignal,
): PastSource {
  const history = new History(disk, {
    places: { snapshotDir: folderIn(dataDir), logDir: folderIn(dataLogDir ?? dataDir) },
    compression: zlibCompression,
    pause() {
      signal.throwIfAborted()
      return undefined
    },
  })
  const look = async (path: string, at: string): Promise<{ zxid: string; found: PastNode }> => {
    const tree = await told(history.treeAt(pointOf('POINT', at), nodeAt(path)))
    const found = tree.node(path)
    if (found === undefined) throw noNode(path)
    return { zxid: hex(tree.zxid), found }
  }
  return {
    async *changes({ limit, from, to, session, kinds, path, isExact, isOldestFirst, wantsData }) {
      const filter = {
        path,
        isExact,
        session: session === undefined ? undefined : signed(hexOf('--session', session)),
        kinds: kinds && new Set(kinds.map(kindOf)),
      }
      const options = { isOldestFirst: isOldestFirst === true, wantsData: wantsData === true }
      let range = await told(history.range(pointFrom('--from', from), pointFrom('--to', to)))
      for (let left = limit; left > 0;) {
        const page = await told(
          history.page(range, filter, { ...options, limit: Math.min(left, pageMax) }),
        )
        for (const change of page.changes.slice(0, left))
          yield changeJson(change, options.wantsData)
        left -= page.changes.length
        if (page.next === undefined) return
        range = options.isOldestFirst ? { ...range, from: page.next } : { ...range, to: page.next }
      }
    },
    async node(path, at) {
      const { zxid, found } = await look(path, at)
      return { zxid, node: nodeJson(found, false) }
    },
    async data(path, at) {
      return (await look(path, at)).found.data ?? new Uint8Array(0)
    },
    async *subtree(path, at, wantsData) {
      const tree = await told(history.treeAt(pointOf('POINT', at), subtreeAt(path, true)))
      if (tree.node(path) === undefined) throw noNode(path)
      for (const node of tree.walk(path)) yield nodeJson(node, wantsData)
    },
    async *diff(path, from, to, wantsData) {
      const found = await told(history.compare(pointOf('FROM', from), pointOf('TO', to), path))
      for (const { before, after, ...rest } of found)
        yield {
          ...rest,
          before: before === undefined ? null : nodeJson(before, wantsData),
          after: after === undefined ? null : nodeJson(after, wantsData),
        }
    },
  }
}

function folderIn(directory: string): string {
  const inner = join(directory, 'version-2')
  if (existsSync(inner)) return inner
  if (existsSync(directory)) return directory
  throw new CommandError(`${directory} does not exist`, {
    code: 'noFile',
    exitCode: exitCodes.notFound,
  })
}

/** Missing history is not a bug, so it is an error without a stack. */
async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error
    const exitCode = error.problem === 'damaged' ? exitCodes.failed : exitCodes.notFound
    throw new CommandError(error.message, { code: error.problem, exitCode, cause: error })
  }
}

function noNode(path: string): CommandError {
  return new CommandError(`there was no znode ${path}`, {
    code: 'noNode',
    exitCode: exitCodes.notFound,
  })
}

function pointFrom(name: string, text: string | undefined): Point | undefined {
  return text === undefined ? undefined : pointOf(name, text)
}

function kindOf(text: string): ChangeKind {
  const kind = changeKinds.find((each) => each === text)
  if (kind === undefined) throw new UsageError(`--kind: there is no kind ${text}`)
  return kind
}

function signed(session: bigint): bigint {
  return BigInt.asIntN(64, session)
}

function changeJson(change: Change, wantsData: boolean): ChangeJson {
  const { zxid, timeMs, kind, part, parts, path, version, dataLength, data, session } = change
  const { nodeKind, ttlMs, cause, timeoutMs } = change
  return {
    zxid: hex(zxid),
    time: timeOf(timeMs),
    kind,
    part,
    parts,
    path: path ?? null,
    version: version ?? null,
    dataLength: dataLength ?? null,
    nodeKind: nodeKind ?? null,
    ttlMs: ttlMs ?? null,
    cause: cause ?? null,
    timeoutMs: timeoutMs ?? null,
    session: hex(session),
    client: null,
    ...(wantsData && data !== undefined ? dataJson(data) : {}),
  }
}

function nodeJson(node: PastNode, wantsData: boolean): PastNodeJson {
  const { path, kind, stat, data, ttlMs, acl } = node
  return {
    path,
    name: nameOf(path),
    kind,
    czxid: hex(stat.czxid),
    mzxid: hex(stat.mzxid),
    pzxid: hex(stat.pzxid),
    ctime: isoTime(stat.ctime),
    mtime: isoTime(stat.mtime),
    version: stat.version,
    cversion: stat.cversion,
    aversion: stat.aversion,
    ephemeralOwner: kind === 'ephemeral' ? hex(stat.ephemeralOwner) : null,
    ttlMs: ttlMs ?? null,
    dataLength: stat.dataLength,
    numChildren: stat.numChildren,
    acl: acl.map(({ perms, id: { scheme, id } }) => ({
      perms: Array.from('crwda', (one) => (permissionLetters(perms).includes(one) ? one : '')).join(
        '',
      ),
      scheme: scheme ?? '',
      id: id ?? '',
    })),
    ...(wantsData ? dataJson(data) : {}),
  }
}

function dataJson(data: Uint8Array | null): DataJson {
  if (data === null) return { data: null, encoding: null }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
    return { data: text, encoding: 'utf8' }
  } catch {
    return { data: Buffer.from(data).toString('base64'), encoding: 'base64' }
  }
}
