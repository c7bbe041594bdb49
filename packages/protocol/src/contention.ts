/**
 * Finds the holders and waiters of a lock, semaphore or election from the names of znodes, in the
 * layouts of zabra, Curator and kazoo. Everything here follows from names and stats; the caller
 * reads them.
 */
import type { Stat } from './records/common.ts'
import { joinPath } from './path.ts'

export const lineKinds = [
  'lock',
  'read/write lock',
  'election',
  'semaphore',
  'simple lock',
  'queue',
  'group',
] as const
export type LineKind = (typeof lineKinds)[number]
export type Library = 'zabra or Curator' | 'zabra or kazoo' | 'kazoo' | 'zabra' | 'any'

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

/** Items of queues: of Curator's `DistributedQueue` and `SimpleDistributedQueue`, of kazoo and zabra. */
const queueItems: readonly { readonly pattern: RegExp; readonly library: Library }[] = [
  { pattern: /^(?:queue-.*|qn-)\d{10}$/, library: 'zabra or Curator' },
  { pattern: /^entry-(?:\d{3}|@\d{15})-(?:~[^~]*~)?.*\d{10}$/, library: 'zabra or kazoo' },
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

/** Whether a child with this name makes its parent a queue. */
export function isQueueItem(name: string): boolean {
  return queueItems.some(({ pattern }) => pattern.test(name))
}

/** The children of a queue that are items, the next one first. */
export function queueItemsAmong(children: readonly string[]): readonly Candidate[] {
  const items = children.flatMap((name) => {
    const form = queueItems.find(({ pattern }) => pattern.test(name))
    return form === undefined
      ? []
      : [{ name, mark: { text: '', kind: 'queue', library: form.library } as const }]
  })
  return items.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** A member of a group: a child that is deleted with the session that created it. */
export function groupMember(name: string): Candidate {
  return { name, mark: { text: '', kind: 'group', library: 'any' } }
}

/** The line that the candidates form; undefined if none is left. */
export function lineOf(path: string, candidates: readonly Standing[]): Line | undefined {
  if (candidates.length === 0) return undefined
  const [first] = candidates
  // The items of a queue are ordered by name.
  const standing =
    first!.mark.kind === 'queue'
      ? candidates
      : candidates.toSorted((a, b) => (a.stat.czxid < b.stat.czxid ? -1 : 1))
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
  const isLeases = path.endsWith('/leases') && standing[0]!.mark.kind === 'lock'
  if (kinds.has('semaphore') || isLeases) return 'semaphore'
  return standing[0]!.mark.kind
}

/** The contenders, in order, that hold what they wait for. */
function holdersIn(kind: LineKind, standing: readonly Candidate[]): ReadonlySet<number> {
  if (kind === 'queue') return new Set()
  // A lease is only made when there is room for it.
  if (kind === 'semaphore' || kind === 'group') return new Set(standing.keys())
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

/** A session that waits for what another session holds. */
export interface Wait {
  readonly waiter: bigint
  readonly holder: bigint
  /** The path of the line in which it waits. */
  readonly path: string
}

/**
 * The waits of all lines except elections: a candidate that does not lead continues with other
 * work.
 */
export function waitsIn(lines: readonly Line[]): Wait[] {
  return lines.flatMap(({ path, kind, contenders }) => {
    if (kind === 'election' || kind === 'queue' || kind === 'group') return []
    const holders = new Set(contenders.filter(({ holds }) => holds).map(({ session }) => session))
    const waiters = new Set(contenders.filter(({ holds }) => !holds).map(({ session }) => session))
    return [...waiters].flatMap((waiter) =>
      [...holders]
        .filter((holder) => holder !== waiter)
        .map((holder) => ({ waiter, holder, path })),
    )
  })
}

/** Cycles of waits: each session waits for the next one. No session is in two cycles. */
export function deadlocksIn(waits: readonly Wait[]): Wait[][] {
  const from = new Map<bigint, Wait[]>()
  for (const wait of waits) from.set(wait.waiter, [...(from.get(wait.waiter) ?? []), wait])
  const circles: Wait[][] = []
  const done = new Set<bigint>()
  for (const start of from.keys()) {
    if (done.has(start)) continue
    const circle = circleFrom(start, from, done)
    if (circle !== undefined) circles.push(circle)
  }
  return circles
}

/** Searches depth-first from a session; `done` are sessions that start no new cycle. */
function circleFrom(
  start: bigint,
  from: ReadonlyMap<bigint, readonly Wait[]>,
  done: Set<bigint>,
): Wait[] | undefined {
  const way: Wait[] = []
  const ahead: (Wait | 'back')[] = [...(from.get(start) ?? [])]
  done.add(start)
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (next === 'back') {
      way.pop()
      continue
    }
    way.push(next)
    const { holder } = next
    const at = way.findIndex(({ waiter }) => waiter === holder)
    if (at >= 0) {
      for (const { waiter } of way) done.add(waiter)
      return way.slice(at)
    }
    if (done.has(holder)) {
      way.pop()
      continue
    }
    done.add(holder)
    ahead.push('back', ...(from.get(holder) ?? []))
  }
  return undefined
}
