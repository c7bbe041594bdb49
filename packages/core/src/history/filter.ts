import type { Change, ChangeKind } from './change.ts'
import { pathKey, sessionKey, subtreeKey } from './keys.ts'
import type { KeyGroups } from './past-logs.ts'

/** Selects changes; an omitted field selects everything. */
export interface ChangeFilter {
  /** Changes of this znode and its descendants. */
  readonly path?: string | undefined
  /** Changes of this znode only. */
  readonly isExact?: boolean | undefined
  readonly session?: bigint | undefined
  readonly kinds?: ReadonlySet<ChangeKind> | undefined
}

export function passes({ path, session, kind }: Change, filter: ChangeFilter): boolean {
  if (filter.session !== undefined && session !== filter.session) return false
  if (filter.kinds !== undefined && !filter.kinds.has(kind)) return false
  if (filter.path === undefined) return true
  if (path === undefined) return false
  if (path === filter.path) return true
  if (filter.isExact === true) return false
  return filter.path === '/' || path.startsWith(`${filter.path}/`)
}

/** The keys that a part of a log must contain to be worth reading. */
export function keysOf({ path, isExact, session }: ChangeFilter): KeyGroups {
  const groups: (readonly number[])[] = []
  if (path !== undefined && (path !== '/' || isExact === true))
    groups.push([isExact === true ? pathKey(path) : subtreeKey(path)])
  if (session !== undefined) groups.push([sessionKey(session)])
  return groups
}
