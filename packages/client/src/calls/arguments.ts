/**
 * Rejects arguments of the wrong type before anything is sent; they can only come from untyped
 * programs.
 */
import { anyVersion } from '@zabra/protocol'
import type { Consistency } from '../options.ts'
import { checkOptionNames, parentNames } from './option-names.ts'

/** The version for a request. The server takes -1 for any version, so -1 cannot be compared. */
export function versionOf({
  ifVersion = 'any',
}: {
  readonly ifVersion?: number | 'any' | undefined
}): number {
  if (ifVersion === 'any') return anyVersion
  if ((ifVersion | 0) !== ifVersion || ifVersion === anyVersion)
    throw new RangeError(`ifVersion is the version of a node, or 'any', not ${shown(ifVersion)}`)
  return ifVersion
}

export function checkTimeout(timeoutMs: number | undefined, name = 'timeoutMs'): void {
  if (timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs >= 0)) return
  throw new RangeError(`${name} is a number of milliseconds from 0 on, not ${shown(timeoutMs)}`)
}

/** Returns the count if it is a whole number from 1 on. */
export function checkCount(count: number, name: string): number {
  if (Number.isInteger(count) && count >= 1) return count
  throw new RangeError(`${name} is a whole number from 1 on, not ${shown(count)}`)
}

export function checkWatch(watch: unknown): void {
  if (watch !== undefined && typeof watch !== 'function')
    throw new TypeError(`watch is a function, not ${shown(watch)}`)
}

export function checkParents(parents: unknown): void {
  if (parents === undefined || typeof parents === 'boolean') return
  if (typeof parents === 'object' && parents !== null)
    return checkOptionNames('parents', parents, parentNames)
  throw new TypeError(`parents is true, false or { container, acl }, not ${shown(parents)}`)
}

/** Entries of other clients have other fields, and would be written as entries without permissions. */
export function checkAcl(acl: unknown): void {
  const entries: readonly unknown[] = Array.isArray(acl) ? acl : [undefined]
  if (entries.every(isAclEntry)) return
  throw new TypeError('acl is a list of { perms, id: { scheme, id } }, such as acl.creator')
}

function isAclEntry(entry: unknown): boolean {
  const { perms, id } = (entry ?? {}) as { readonly perms?: unknown; readonly id?: unknown }
  if (typeof perms !== 'number' || typeof id !== 'object' || id === null) return false
  return 'scheme' in id && 'id' in id
}

const consistencies: readonly unknown[] = [
  undefined,
  'local',
  'session',
  'linearizable',
] satisfies readonly (Consistency | undefined)[]

export function checkConsistency(consistency: unknown): void {
  checkOneOf('consistency', consistency, consistencies)
}

/** Whether an option has one of its allowed values. */
export function checkOneOf(name: string, value: unknown, choices: readonly unknown[]): void {
  if (choices.includes(value)) return
  const named = choices.filter((choice) => choice !== undefined).map(shown)
  throw new TypeError(`${name} is ${named.join(' or ')}, not ${shown(value)}`)
}

/** Formats a value for an error message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** Members of an ensemble, as the protocol writes them. */
export function listed(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(',')
}
