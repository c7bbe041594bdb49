/** Requests and results in the form that workloads and the model use. */

export type AclName = 'open' | 'readOnly' | 'alice' | 'auth'

export type Part =
  | {
      readonly op: 'create'
      readonly kind: 'create' | 'create2' | 'createContainer' | 'createTTL'
      readonly path: string
      readonly data: string
      readonly acl: AclName
      readonly flags: number
      readonly ttlMs?: number
    }
  | { readonly op: 'delete'; readonly path: string; readonly version: number }
  | {
      readonly op: 'setData'
      readonly path: string
      readonly data: string
      readonly version: number
    }
  | { readonly op: 'check'; readonly path: string; readonly version: number }

export type ReadPart = { readonly op: 'getData' | 'getChildren'; readonly path: string }

export type Request =
  | Exclude<Part, { op: 'check' }>
  | {
      readonly op: 'setACL'
      readonly path: string
      readonly acl: AclName
      readonly version: number
    }
  | { readonly op: 'multi'; readonly parts: readonly Part[] }
  | {
      readonly op: 'exists' | 'getData' | 'getChildren' | 'getChildren2'
      readonly path: string
      readonly watch: boolean
    }
  | { readonly op: 'getACL' | 'sync' | 'getAllChildrenNumber'; readonly path: string }
  | { readonly op: 'getEphemerals'; readonly path: string }
  | { readonly op: 'multiRead'; readonly parts: readonly ReadPart[] }
  | { readonly op: 'whoAmI' | 'closeSession' }
  | { readonly op: 'addWatch'; readonly path: string; readonly mode: number }
  | { readonly op: 'removeWatches' | 'checkWatches'; readonly path: string; readonly type: number }
  | { readonly op: 'auth'; readonly user: string }
  | { readonly op: 'setWatches'; readonly watches: RestoredWatches }

export interface RestoredWatches {
  readonly since: bigint
  readonly data: readonly string[]
  readonly exist: readonly string[]
  readonly child: readonly string[]
  readonly persistent: readonly string[]
  readonly recursive: readonly string[]
}

/** A znode's stat as a client sees it. */
export interface StatView {
  readonly czxid: bigint
  readonly mzxid: bigint
  readonly ctime: bigint
  readonly mtime: bigint
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: bigint
  readonly dataLength: number
  readonly numChildren: number
  readonly pzxid: bigint
}

/** An answer in a form that the model and the wire share. */
export interface Result {
  readonly err: number
  readonly path?: string
  readonly stat?: StatView
  readonly data?: string | null
  readonly children?: readonly string[]
  readonly acl?: readonly string[]
  readonly count?: number
  readonly parts?: readonly Result[]
}

const writeOps: ReadonlySet<string> = new Set(['create', 'delete', 'setData', 'setACL', 'multi'])

export function isWrite(request: Request): boolean {
  return writeOps.has(request.op)
}

/** For comparing and printing. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return `${inner}`
    return typeof inner === 'string' && inner.length > 40
      ? `${inner.slice(0, 20)}…${inner.length}…${inner.slice(-8)}`
      : inner
  })
}

/** The fields of a stat to compare if zxids and times are not trusted. */
const blurredStat = [
  'version',
  'cversion',
  'aversion',
  'ephemeralOwner',
  'dataLength',
  'numChildren',
] as const
const wholeStat = [...blurredStat, 'czxid', 'mzxid', 'pzxid', 'ctime', 'mtime'] as const

/** `isBlurred`: ignores zxids and times, which only the server knows. */
export function isSameResult(one: Result, other: Result, isBlurred = false): boolean {
  return (
    one.err === other.err &&
    one.path === other.path &&
    one.data === other.data &&
    one.count === other.count &&
    isSameList(one.children, other.children, (a, b) => a === b) &&
    isSameList(one.acl, other.acl, (a, b) => a === b) &&
    isSameStat(one.stat, other.stat, isBlurred) &&
    isSameList(one.parts, other.parts, (a, b) => isSameResult(a, b, isBlurred))
  )
}

export function isSameStat(
  one: StatView | undefined,
  other: StatView | undefined,
  isBlurred = false,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return (isBlurred ? blurredStat : wholeStat).every((name) => one[name] === other[name])
}

function isSameList<T>(
  one: readonly T[] | undefined,
  other: readonly T[] | undefined,
  isSame: (a: T, b: T) => boolean,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((item, i) => isSame(item, other[i]!))
}
