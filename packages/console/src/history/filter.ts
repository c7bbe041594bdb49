/** Which changes are shown; it lives in the address of the page. */
import { changeKinds, kindText, type ChangeKind } from './change.ts'
import { pointText } from './points.ts'

export interface ChangeFilter {
  readonly path: string
  readonly isExact: boolean
  readonly session: string | undefined
  /** All, if it is empty. */
  readonly kinds: readonly ChangeKind[]
  readonly from: string | undefined
  readonly to: string | undefined
}

export function filterIn(query: URLSearchParams): ChangeFilter {
  const words = query.get('kinds')?.split(',') ?? []
  return {
    path: query.get('path') ?? '',
    isExact: query.get('exact') === 'true',
    session: query.get('session') ?? undefined,
    kinds: changeKinds.filter((kind) => words.includes(kind)),
    from: query.get('from') ?? undefined,
    to: query.get('to') ?? undefined,
  }
}

/** For the address of the page, and for the API: what does not filter is left out. */
export function queryOf(filter: ChangeFilter): Record<string, string> {
  const { path, isExact, session, kinds, from, to } = filter
  return {
    ...(path === '' ? {} : { path }),
    ...(isExact && path !== '' ? { exact: 'true' } : {}),
    ...(session === undefined ? {} : { session }),
    ...(kinds.length === 0 || kinds.length === changeKinds.length
      ? {}
      : { kinds: kinds.join(',') }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

/** The same without the range: what happens now has no end. */
export function liveQueryOf(filter: ChangeFilter): Record<string, string> {
  return queryOf({ ...filter, from: undefined, to: undefined })
}

/** A filter in words, as its name. */
export function filterText({ path, isExact, session, kinds, from, to }: ChangeFilter): string {
  const parts = [
    path === '' ? '' : isExact ? `${path} itself` : path,
    session === undefined ? '' : `session ${session}`,
    kinds.map((kind) => kindText[kind].toLowerCase()).join(' or '),
    from === undefined ? '' : `from ${pointText(from)}`,
    to === undefined ? '' : `to ${pointText(to)}`,
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'all changes' : parts.join(', ')
}
