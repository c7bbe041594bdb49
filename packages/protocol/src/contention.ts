/**
 * Who holds a right and who waits for it, by the names of znodes in the layouts of zabra, Curator
 * and kazoo. Everything here follows from names and stats; reading them is up to the caller.
 */
import type { Stat } from './records/common.ts'
import { joinPath } from './path.ts'

export type LineKind = 'lock' | 'read/write lock' | 'election' | 'semaphore' | 'simple lock'
export type Library = 'zabra or Curator' | 'kazoo' | 'zabra'

/** Somebody who holds a right or waits for it. */
export interface Contender {
  readonly node: string
  readonly holds: boolean
  /** How a contender of a read/write lock wants it. */
  readonly mode: 'read' | 'write' | undefined
  /** What it says of itself: the data of its node. */
  readonly id: string
  readonly session: bigint
  /** The czxid: grows from one holder to the next. */
  readonly token: bigint
  /** When it began to wait, in ms since 1970. */
  readonly sinceMs: number
  readonly library: Library
}

/** Those who hold a right and those who wait for it, in order. */
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

/** What stands before the number in the names of contenders. Longer ones come first. */
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

/** A child that may be a contender, by its name. */
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

/** The line that candidates form; undefined where none of them stands any more. */
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
  // kazoo's writers look like its plain locks; a reader beside them tells.
  if (kinds.has('read/write lock')) return 'read/write lock'
  if (kinds.has('semaphore') || path.endsWith('/leases')) return 'semaphore'
  return standing[0]!.mark.kind
}

/** Which of those in order have what they wait for. */
function holdersIn(kind: LineKind, standing: readonly Candidate[]): ReadonlySet<number> {
  // A lease is only made when there is room for it.
  if (kind === 'semaphore') return new Set(standing.keys())
  if (kind !== 'read/write lock') return new Set([0])
  const firstWriter = standing.findIndex(({ mark }) => mark.mode !== 'read')
  if (firstWriter < 0) return new Set(standing.keys())
  return new Set(firstWriter === 0 ? [0] : standing.slice(0, firstWriter).keys())
}

const shownMax = 60

/** What a contender's data says, as one short line. */
export function contenderId(data: Uint8Array | null): string {
  const text = Buffer.from(data ?? [])
    .toString()
    .replaceAll(/\p{Cc}/gu, ' ')
  return text.length > shownMax ? `${text.slice(0, shownMax)}...` : text
}
