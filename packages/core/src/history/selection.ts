/** Selects znodes by path. */
import { codes, decodeText, encodeText, type SimpleTxn, type Txn } from '@zabra/protocol'
import { pathKey, subtreeKey } from './keys.ts'

const slash = 0x2f

export interface Selection {
  /** Whether every znode is selected. */
  readonly isAll: boolean
  /** A part of a log matters only if it has one of these keys; undefined if any part may matter. */
  readonly keys: readonly number[] | undefined
  has(path: string): boolean
  /** Takes the bytes of a path. Snapshots store the root as the empty path. */
  hasBytes(bytes: Uint8Array, start: number, end: number): boolean
}

export const everything: Selection = {
  isAll: true,
  keys: undefined,
  has: () => true,
  hasBytes: () => true,
}

/** A znode and its descendants. With `above`, also its ancestors. */
export function subtreeAt(path: string, above = false): Selection {
  if (path === '/') return everything
  const wanted = encodeText(path)
  const ways = above ? ['/', ...ancestorsOf(path)] : []
  const onTheWay = new Set(ways)
  return {
    isAll: false,
    keys: [subtreeKey(path), ...ways.map(pathKey)],
    has: (candidate) =>
      candidate === path ||
      (candidate.startsWith(path) && candidate.charCodeAt(path.length) === slash) ||
      (above && onTheWay.has(candidate)),
    hasBytes(bytes, start, end) {
      const length = end - start
      const common = Math.min(length, wanted.length)
      for (let i = 0; i < common; i++) if (bytes[start + i] !== wanted[i]) return false
      if (length >= wanted.length)
        return length === wanted.length || bytes[start + wanted.length] === slash
      return above && (length === 0 || wanted[length] === slash)
    },
  }
}

/** A znode with its children, so that its stat is whole; and the ancestors. */
export function nodeAt(path: string): Selection {
  return levelsAt(path, 1)
}

/** The children of a znode with theirs, so that their stats are whole; and the ancestors. */
export function childrenAt(path: string): Selection {
  return levelsAt(path, 2)
}

function levelsAt(path: string, levels: number): Selection {
  const below = subtreeAt(path, true)
  const depthMax = depthOf(path) + levels
  return {
    isAll: false,
    keys: below.keys,
    has: (candidate) => depthOf(candidate) <= depthMax && below.has(candidate),
    hasBytes(bytes, start, end) {
      let depth = 0
      for (let at = start; at < end; at++) if (bytes[at] === slash) depth++
      return depth <= depthMax && below.hasBytes(bytes, start, end)
    },
  }
}

function depthOf(path: string): number {
  let depth = 0
  for (let at = 0; at < path.length; at++) if (path.charCodeAt(at) === slash) depth++
  return path === '/' ? 0 : depth
}

/** These znodes alone: their stats are not whole if they have children. With `above`, also their ancestors. */
export function nodesAt(paths: Iterable<string>, above = false): Selection {
  const wanted = new Set(paths)
  if (above) {
    for (const path of wanted) for (const each of ancestorsOf(path)) wanted.add(each)
    wanted.add('/')
  }
  const lengths = new Set(Array.from(wanted, (path) => encodeText(path).length))
  return {
    isAll: false,
    keys: Array.from(wanted, pathKey),
    has: (path) => wanted.has(path),
    hasBytes(bytes, start, end) {
      if (start === end) return wanted.has('/')
      return lengths.has(end - start) && wanted.has(decodeText(bytes, start, end))
    },
  }
}

/** The part of a transaction that concerns a selection: all, some or nothing (undefined) of it. */
export function partOf(txn: Txn, selection: Selection): Txn | undefined {
  if (selection.isAll) return txn
  if (txn.type !== codes.multi) return isAbout(txn, selection) ? txn : undefined
  const { txns } = txn.body
  if (txns.some(({ type }) => type === codes.error)) return undefined
  const parts = txns.filter((part) => isAbout(part, selection))
  return parts.length === 0 ? undefined : { type: codes.multi, body: { txns: parts } }
}

function isAbout({ type, body }: SimpleTxn, selection: Selection): boolean {
  // A session end without a list concerns everything that the session owned.
  if (type === codes.closeSession)
    return body.paths2Delete === undefined || body.paths2Delete.some((path) => selection.has(path))
  return 'path' in body && selection.has(body.path)
}

/** All ancestors below the root, from the top down to the parent. */
function ancestorsOf(path: string): string[] {
  const found: string[] = []
  for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1))
    found.push(path.slice(0, at))
  return found
}
