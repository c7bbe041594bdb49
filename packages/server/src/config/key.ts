import type { ValueType } from './value-types.ts'

/** The effect of a key. */
export type Use =
  /** The server acts on it. */
  | 'used'
  /** Read and checked; only an ensemble acts on it. */
  | 'ensemble'
  /** Read and checked, but the feature does not exist yet: worth a warning. */
  | 'planned'
  /** Accepted so that existing files work; `notice` explains what it means here. */
  | 'unused'

/**
 * How Apache ZooKeeper is given the key, which decides strictness and precedence:
 * - `setting`: only in zoo.cfg; malformed text is an error.
 * - `property`: the system property `zookeeper.NAME`, which zoo.cfg can set as NAME and then wins
 *   over -D; malformed text means the default, so we only warn.
 * - `bare`: a system property without that prefix. Apache's zoo.cfg cannot set it, ours can; a -D
 *   still wins, because with Apache it would be the only one to count.
 */
export type Source = 'setting' | 'property' | 'bare'

export interface Range {
  readonly min?: number
  readonly max?: number
  /** Whether a value outside of the range is refused, or replaced with a warning. */
  readonly outside: 'error' | 'nearest' | 'default'
}

/** The declaration of one key; everything else about it follows from this. */
export interface Key<T, D> {
  readonly source: Source
  readonly type: ValueType<T>
  readonly default: D
  readonly use: Use
  /** One or two sentences for docs/configuration.md. */
  readonly docs: string
  /** The difference from Apache ZooKeeper, if there is one. */
  readonly departs?: string
  /** For an unused key: what it means here. */
  readonly notice?: string
  /** Default when the server is started without a configuration file. */
  readonly withoutFile?: T
  /** The default in words, if it is computed. */
  readonly defaultText?: string
  readonly range?: Range
  /** Malformed text is an error although this is a property. */
  readonly strict?: boolean
  /** Names of the system property, if not `zookeeper.NAME` (or NAME for a bare one). */
  readonly properties?: readonly string[]
  /** The option of `zabra server` that sets it. */
  readonly flag?: string
}

export type AnyKey = Key<unknown, unknown>
export type ValueOf<K> = K extends Key<infer T, infer D> ? T | D : never

type Details<T> = Partial<Omit<Key<T, T>, 'source' | 'type' | 'default' | 'docs'>>

/** A key that Apache ZooKeeper reads from zoo.cfg only. */
export function setting<T, const D extends T | undefined>(
  type: ValueType<T>,
  fallback: D,
  docs: string,
  details: Details<T> = {},
): Key<T, D> {
  return { use: 'used', ...details, source: 'setting', type, default: fallback, docs }
}

/** A key that Apache ZooKeeper reads as the system property `zookeeper.NAME`. */
export function property<T, const D extends T | undefined>(
  type: ValueType<T>,
  fallback: D,
  docs: string,
  details: Details<T> = {},
): Key<T, D> {
  return { use: 'used', ...details, source: 'property', type, default: fallback, docs }
}

/** A key that Apache ZooKeeper reads as a system property without prefix. */
export function bare<T, const D extends T | undefined>(
  type: ValueType<T>,
  fallback: D,
  docs: string,
  details: Details<T> = {},
): Key<T, D> {
  return { use: 'used', ...details, source: 'bare', type, default: fallback, docs }
}

/** Keys whose names end with a free part: `server.1`, `authProvider.sasl`. */
export interface Family {
  /** For the documentation: `server.N`. */
  readonly name: string
  readonly pattern: RegExp
  readonly source: 'setting' | 'property'
  readonly use: Use
  readonly docs: string
  readonly notice?: string
}
