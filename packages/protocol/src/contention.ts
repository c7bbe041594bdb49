/**
 * Finds the holders and waiters of a lock, semaphore or election from the names of znodes, in the
 * layouts of zabra, Curator and kazoo. Everything here follows from names and stats; the caller
 * reads them.
 */
import type { Stat } from './records/common.ts'
import { joinPath } from './path.ts'

export type LineKind = 'lock' | 'read/write lock' | 'election' | 'semaphore' | 'simple lock'
export type Library = 'zabra or Curator' | 'kazoo' | 'zabra'

/** A client that holds a right or waits for it. */
export interface Contender {
  readonly node: string
  readonly holds: boolean
  /** The side of a read/write lock that a contender asks for. */
  readonly mode: 'read' | 'write' | undefined
  /** The data of its node, in which it describes itself. */
  readonly id: string
  readonly session: bigint
  /** The czxid; it grows from one holder to the next. */
  readonly token: bigint
  /** When it began to wait, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly library: Library
}

/** The holders of a right and its waiters, in order. */
export interface Line {
  readonly path: string
  readonly kind: LineKind
  readonly contenders: readonly Contender[]
}

interface Mark {
  readonly text: string
  readonly kind: LineKind
  readonly library: Library
  readonly mode?: 'read' | 'write'
}

/** Prefixes before the sequence number in the names of contenders. Longer prefixes come first. */
const marks: readonly Mark[] = [
  { text: '__READ__', kind: 'read/write lock', library: 'zabra or Curator', mode: 'read' },
  { text: '__WRIT__', kind: 'read/write lock', library: 'zabra or Curator', mode: 'write' },
  { text: '__rlock__', kind: 'read/write lock', library: 'kazoo', mode: 'read' },
  { text: '__lock__', kind: 'lock', library: 'kazoo', mode: 'write' },
  { text: 'latch-', kind: 'election', library: 'zabra or Curator' },
  { text: 'lease-', kind: 'semaphore', library: 'zabra or Curator' },
  { text: 'lock-', kind: 'lock', library: 'zabra or Curator' },
]

const simpleLock: Mark = { text: '', kind: 'simple lock', library: 'zabra' }
const simpleLockNode = 'held'

/** A child that may be a contender, judged by its name. */
export interface Candidate {
  readonly name: string
  readonly mark: Mark
}

/** A candidate whose node was read. */
export interface Standing extends Candidate {
  readonly stat: Stat
  readonly id: string
}

/** The children of a node that contend for something. */
export function candidatesAmong(children: readonly string[]): readonly Candidate[] {
  if (children.includes(simpleLockNode) && children.some((name) => name.startsWith('holder-'))) {
    return [{ name: simpleLockNode, mark: simpleLock }]
  }
  return children.flatMap((name) => candidateOf(name) ?? [])
}

function candidateOf(name: string): Candidate | undefined {
  for (const mark of marks) {
    const at = name.lastIndexOf(mark.text)
    if (at >= 0 && /^-?\d{9,10}$/.test(name.slice(at + mark.text.length))) return { name, mark }
  }
  return undefined
}

/** The order in which candidates wait; undefined if none of them exists any more. */
export function lineOf(path: string, candidates: readonly Standing[]): Line | undefined {
  if (candidates.length === 0) return undefined
  const standing = candidates.toSorted((a, b) => (a.stat.czxid < b.stat.czxid ? -1 : 1))
  const kind = kindOf(path, standing)
  const holders = holdersIn(kind, standing)
  return {
    path,
    kind,
    contenders: standing.map(({ name, mark, stat, id }, index) => ({
      node: joinPath(path, name),
      holds: holders.has(index),
      mode: kind === 'read/write lock' ? (mark.mode ?? 'write') : undefined,
      id,
      session: stat.ephemeralOwner,
      token: stat.czxid,
      sinceMs: Number(stat.ctime),
      library: mark.library,
    })),
  }
}

function kindOf(path: string, standing: readonly Candidate[]): LineKind {
  const kinds = new Set(standing.map(({ mark }) => mark.kind))
  // kazoo names writers like plain locks; only a reader next to them reveals a read/write lock.
  if (kinds.has('read/write lock')) return 'read/write lock'
  if (kinds.has('semaphore') || path.endsWith('/leases')) return 'semaphore'
  return standing[0]!.mark.kind
}

/** The contenders, in order, that hold what they wait for. */
function holdersIn(kind: LineKind, standing: readonly Candidate[]): ReadonlySet<number> {
  // A lease node is created only when a slot is free.
  if (kind === 'semaphore') return new Set(standing.keys())
  if (kind !== 'read/write lock') return new Set([0])
  const firstWriter = standing.findIndex(({ mark }) => mark.mode !== 'read')
  if (firstWriter < 0) return new Set(standing.keys())
  return new Set(firstWriter === 0 ? [0] : standing.slice(0, firstWriter).keys())
}

const shownMax = 60

/** Data of a contender, as one short line. */
export function contenderId(data: Uint8Array | null): string {
  const text = Buffer.from(data ?? [])
    .toString()
    .replaceAll(/\p{Cc}/gu, ' ')
  return text.length > shownMax ? `${text.slice(0, shownMax)}...` : text
}
