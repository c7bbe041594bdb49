/** Rejects unknown options by name, so that untyped programs learn of a typo. */
import type {
  CallOptions,
  CreateOptions,
  EnsureOptions,
  ParentOptions,
  PutNodeOptions,
  ReadOptions,
  ReconfigOptions,
  WatchableReadOptions,
  WithCodec,
  WriteOptions,
} from '../options.ts'
import type { WatchOptions } from '../watching/watching.ts'

type Names = Readonly<Record<string, true>>

/** The options of a call that names none. Most calls do not, and then there is nothing to check. */
export const noOptions: CallOptions = Object.freeze({})

/** Throws a TypeError if an option has none of the names. */
export function checkOptionNames(what: string, options: object, names: Names): void {
  if (options === noOptions) return
  // A deadline as a number, or a callback, as in other clients.
  if (typeof options !== 'object')
    throw new TypeError(`${what} takes an object with options, not a ${typeof options}`)
  for (const name in options) if (names[name] !== true) refuse(what, name, Object.keys(names))
}

function refuse(what: string, name: string, names: readonly string[]): never {
  const near = nearest(name, names)
  const suggestion = near === undefined ? '' : `; did you mean ${near}?`
  throw new TypeError(`${what} has no option ${name}${suggestion}`)
}

/** Every name of an option type, so that the compiler reports one that is missing here. */
type NamesOf<Options> = Readonly<Record<keyof Options & string, true>>

export const callNames = { signal: true, timeoutMs: true } as const

/** The deadline belongs to the transaction as a whole, and nothing in it can be repeated. */
export const createInTransactionNames: NamesOf<
  Omit<CreateOptions, keyof CallOptions | 'protect' | 'parents'> & WithCodec<unknown>
> = {
  ephemeral: true,
  sequential: true,
  container: true,
  ttlMs: true,
  acl: true,
  codec: true,
}
const create: NamesOf<CreateOptions & WithCodec<unknown>> = {
  ...createInTransactionNames,
  ...callNames,
  parents: true,
  protect: true,
}

export function checkCreateOptions(options: object): void {
  checkOptionNames('create', options, create)
}

/** Reads that set no watch. */
export const readNames: NamesOf<ReadOptions> = { ...callNames, consistency: true }
const watchableReadNames: NamesOf<WatchableReadOptions> = { ...readNames, watch: true }
const dataNames: NamesOf<WatchableReadOptions & WithCodec<unknown>> = {
  ...watchableReadNames,
  codec: true,
}

/** `hasData`: the read returns data, which a codec may decode. */
export function checkReadOptions(options: object, hasData: boolean): void {
  checkOptionNames('a read', options, hasData ? dataNames : watchableReadNames)
}

export const writeNames: NamesOf<WriteOptions> = { ...callNames, ifVersion: true }
export const writeDataNames: NamesOf<WriteOptions & WithCodec<unknown>> = {
  ...writeNames,
  codec: true,
}

/** What `parents` may say about them. */
export const parentNames: NamesOf<ParentOptions> = { container: true, acl: true }

export const findNames: NamesOf<ReadOptions & WithCodec<unknown>> = { ...readNames, codec: true }
export const putNames: NamesOf<PutNodeOptions & WithCodec<unknown>> = {
  ...callNames,
  acl: true,
  parents: true,
  codec: true,
}
export const ensureNames: NamesOf<EnsureOptions> = { ...callNames, ...parentNames }
export const reconfigNames: NamesOf<ReconfigOptions> = {
  ...callNames,
  joining: true,
  leaving: true,
  newMembers: true,
  ifVersion: true,
}
export const watchNames: NamesOf<WatchOptions> = {
  recursive: true,
  initial: true,
  signal: true,
  renew: true,
  depthMax: true,
  include: true,
}

/** The name that was probably meant: one that contains it, or differs in a few letters. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = name.toLowerCase()
  const scored = names.map((candidate) => {
    const other = candidate.toLowerCase()
    const isPart = wanted.length >= 3 && (other.startsWith(wanted) || wanted.startsWith(other))
    return { candidate, score: isPart ? 1 : distance(wanted, other) }
  })
  const best = scored.toSorted((a, b) => a.score - b.score)[0]
  return best !== undefined && best.score <= Math.max(2, name.length / 3)
    ? best.candidate
    : undefined
}

/** Number of letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
