/**
 * A program is plain data: everything in it is decided before it is played, so it plays the same on
 * any server, and can be saved, shrunk and played again.
 */

/** Bytes in a program: text, null, bytes as hex, or `n` times the byte `fill`. */
export type Value =
  | string
  | null
  | { readonly hex: string }
  | { readonly n: number; readonly fill: number }

export interface AclEntry {
  readonly perms: number
  readonly scheme: string | null
  readonly id: string | null
}

/** A moment of the play, for the zxid in a setWatches. */
export type Moment = 'now' | 'start' | 'mid' | 'zero' | 'future'

interface Spoiling {
  /** Replaces the operation number of `op`. */
  opcode?: number
  /** The number of bytes cut off at the end of the body. */
  cut?: number
  /** Extra bytes at the end of the body, as hex. */
  extra?: string
}

interface Creation {
  path: Value
  data: Value
  acl: readonly AclEntry[] | null
  flags: number
}

interface WatchLists {
  relative: Moment
  data: readonly string[]
  exist: readonly string[]
  child: readonly string[]
  persistent: readonly string[]
  recursive: readonly string[]
}

interface Parts {
  ops: readonly Request[]
  /** Leaves out the header that ends the list. */
  noEnd?: boolean
}

/** The body of each operation. */
export interface Bodies {
  create: Creation
  create2: Creation
  createContainer: Creation
  createTTL: Creation & { ttl: string }
  delete: { path: Value; version: number }
  check: { path: Value; version: number }
  /** `watch` is a byte on the wire; 2 is neither true nor false. */
  exists: { path: Value; watch: boolean | number }
  getData: { path: Value; watch: boolean | number }
  getChildren: { path: Value; watch: boolean | number }
  getChildren2: { path: Value; watch: boolean | number }
  setData: { path: Value; data: Value; version: number }
  getACL: { path: Value }
  sync: { path: Value }
  getAllChildrenNumber: { path: Value }
  getEphemerals: { path: Value }
  deleteContainer: { path: Value }
  setACL: { path: Value; acl: readonly AclEntry[] | null; version: number }
  checkWatches: { path: Value; type: number }
  removeWatches: { path: Value; type: number }
  addWatch: { path: Value; mode: number }
  setWatches: WatchLists
  setWatches2: WatchLists
  multi: Parts
  multiRead: Parts
  reconfig: { joining: Value; leaving: Value; members: Value; config: string }
  auth: { scheme: Value; auth: Value }
  sasl: { token: Value }
  createSession: { timeout: number }
  rawOp: { opcode: number; data: Value }
  whoAmI: object
  ping: object
  closeSession: object
}

export type RequestName = keyof Bodies
export type Request = {
  [Name in RequestName]: { op: Name } & Bodies[Name] & Spoiling
}[RequestName]

/** How a session is opened; all but `new` present something old, wrong or unusual. */
export type Handshake =
  | 'new'
  | 'same'
  | 'badpw'
  | 'future'
  | 'bogus'
  | 'short'
  | 'nullpw'
  | 'longpw'

export interface Connect {
  readonly do: 'connect'
  readonly session: number
  readonly how: Handshake
  readonly timeout: number
  /** The read-only flag; undefined for a client too old to send it. */
  readonly ro?: number | undefined
  readonly proto?: number
}

export type Step =
  | Connect
  | { readonly do: 'op'; readonly session: number; readonly request: Request }
  /** Several requests sent at once, before any of them is answered. */
  | { readonly do: 'burst'; readonly session: number; readonly requests: readonly Request[] }
  /** The connection is dropped; the session continues. */
  | { readonly do: 'drop'; readonly session: number }
  /** Opens the session again if its connection is gone. */
  | { readonly do: 'revive'; readonly session: number }
  /** Bytes that need not be a frame. */
  | { readonly do: 'raw'; readonly session: number; readonly hex: string }
  /** A session with ephemerals falls silent until it expires, watched by the next one. */
  | { readonly do: 'expire'; readonly session: number }
  | { readonly do: 'restart'; readonly hard: boolean }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'flw'; readonly word: string }

/** The part of the protocol that a program uses most. */
export const profiles = [
  'general',
  'watches',
  'multi',
  'acl',
  'session',
  'malformed',
  'quota',
] as const
export type Profile = (typeof profiles)[number]

export interface Program {
  readonly seed: number | string
  readonly profile: string
  readonly steps: readonly Step[]
}

/** The root of a program's paths; the player replaces it. */
export const programRoot = '/P'

export const openAcl: readonly AclEntry[] = [{ perms: 31, scheme: 'world', id: 'anyone' }]

/** The number of requests in a program. */
export function requestCount(program: Program): number {
  return program.steps.reduce(
    (sum, step) => sum + (step.do === 'burst' ? step.requests.length : 1),
    0,
  )
}
