import { isRefusal, type Client, type Stat } from '@zabra/client'
import { joinPath } from '../node/paths.ts'
import { walk } from '../node/walk.ts'

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

interface Found {
  readonly name: string
  readonly mark: Mark
  readonly sequence: number
}

function foundIn(name: string): Found | undefined {
  for (const mark of marks) {
    const at = name.lastIndexOf(mark.text)
    if (at < 0) continue
    const digits = name.slice(at + mark.text.length)
    if (/^-?\d{9,10}$/.test(digits)) return { name, mark, sequence: Number(digits) }
  }
  return undefined
}

/** The lines at a node and below it. */
export async function* findLines(
  client: Client,
  top: string,
  signal: AbortSignal,
): AsyncGenerator<Line, void, undefined> {
  const skip = (path: string): boolean => path === '/zookeeper'
  for await (const { path, children } of walk(client, top, { signal, skip })) {
    const line = await lineAt(client, path, children)
    if (line !== undefined) yield line
  }
}

/** The line whose contenders are the children of a node. */
export async function lineAt(
  client: Client,
  path: string,
  children: readonly string[],
): Promise<Line | undefined> {
  if (children.includes('held') && children.some((name) => name.startsWith('holder-')))
    return simpleLock(client, path)
  const found = children.flatMap((name) => foundIn(name) ?? [])
  if (found.length === 0) return undefined
  const read = await Promise.all(found.map((each) => readNode(client, joinPath(path, each.name))))
  const standing = found.flatMap((each, index) => {
    const node = read[index]
    return node === undefined ? [] : [{ ...each, ...node }]
  })
  if (standing.length === 0) return undefined
  standing.sort((a, b) => (a.stat.czxid < b.stat.czxid ? -1 : 1))
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

function kindOf(path: string, standing: readonly Found[]): LineKind {
  const kinds = new Set(standing.map(({ mark }) => mark.kind))
  // kazoo's writers look like its plain locks; a reader beside them tells.
  if (kinds.has('read/write lock')) return 'read/write lock'
  if (kinds.has('semaphore') || path.endsWith('/leases')) return 'semaphore'
  return standing[0]!.mark.kind
}

/** Which of those in order have what they wait for. */
function holdersIn(kind: LineKind, standing: readonly Found[]): ReadonlySet<number> {
  // A lease is only made when there is room for it.
  if (kind === 'semaphore') return new Set(standing.keys())
  if (kind !== 'read/write lock') return new Set([0])
  const isWriter = ({ mark }: Found): boolean => mark.mode !== 'read'
  const firstWriter = standing.findIndex(isWriter)
  if (firstWriter < 0) return new Set(standing.keys())
  return new Set(firstWriter === 0 ? [0] : standing.slice(0, firstWriter).keys())
}

async function simpleLock(client: Client, path: string): Promise<Line | undefined> {
  const node = joinPath(path, 'held')
  const read = await readNode(client, node)
  if (read === undefined) return undefined
  const { stat, id } = read
  return {
    path,
    kind: 'simple lock',
    contenders: [
      {
        node,
        holds: true,
        mode: undefined,
        id,
        session: stat.ephemeralOwner,
        token: stat.czxid,
        sinceMs: Number(stat.ctime),
        library: 'zabra',
      },
    ],
  }
}

const shownMax = 60

/** Undefined where it has gone; without data where it may not be read. */
async function readNode(
  client: Client,
  path: string,
): Promise<{ readonly stat: Stat; readonly id: string } | undefined> {
  try {
    const { data, stat } = await client.get(path)
    const text = Buffer.from(data)
      .toString()
      .replaceAll(/\p{Cc}/gu, ' ')
    return { stat, id: text.length > shownMax ? `${text.slice(0, shownMax)}...` : text }
  } catch (error) {
    if (isRefusal(error, 'noNode')) return undefined
    if (!isRefusal(error, 'noAuth')) throw error
    const stat = await client.exists(path)
    return stat && { stat, id: '' }
  }
}
