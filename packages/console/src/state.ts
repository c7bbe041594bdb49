/** The shared state of all views: the address, the user, and whether the server answers. */
import { computed, signal } from '@preact/signals'
import type { Role, WhoAmI } from './api.ts'

export const views = ['tree', 'history', 'ensemble', 'sessions', 'locks', 'load'] as const
export type View = (typeof views)[number]

export interface Place {
  readonly view: View
  readonly query: URLSearchParams
}

function placeIn(hash: string): Place {
  const [name = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const view = views.find((each) => each === name) ?? 'tree'
  return { view, query: new URLSearchParams(query) }
}

export const place = signal<Place>(placeIn(location.hash))
addEventListener('hashchange', () => (place.value = placeIn(location.hash)))

export function hrefOf(view: View, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString()
  return `#/${view}${text === '' ? '' : `?${text}`}`
}

export function go(view: View, query: Readonly<Record<string, string>> = {}): void {
  location.hash = hrefOf(view, query)
}

/** The same without a step in the history of the browser: for what is typed. */
export function amend(view: View, query: Readonly<Record<string, string>> = {}): void {
  history.replaceState(null, '', hrefOf(view, query))
  place.value = placeIn(location.hash)
}

/** In memory only: gone with the page. */
export const credentials = signal<{ readonly user: string; readonly header: string } | undefined>(
  undefined,
)
export const who = signal<WhoAmI | undefined>(undefined)
const order: readonly Role[] = ['none', 'metadata', 'read', 'write', 'admin']
const rank = computed(() => order.indexOf(who.value?.role ?? 'none'))
export const mayRead = computed(() => rank.value >= order.indexOf('read'))
export const mayWrite = computed(() => rank.value >= order.indexOf('write'))
export const isAdmin = computed(() => rank.value >= order.indexOf('admin'))

export type Link = 'connecting' | 'live' | 'lost'
export const link = signal<Link>('connecting')
/** Grows with each new connection: what is shown must be loaded again. */
export const generation = signal(0)
/** Why the page shows nothing, where somebody has to sign in. */
export const signInReason = signal<string | undefined>(undefined)
export const isSigningIn = signal(false)
/** The role without credentials; undefined until a page without them has asked. */
export const roleOfAll = signal<Role | undefined>(undefined)
/** Whether the user signed in with a password, and has the role of everybody. */
export const isNobody = signal(false)

export interface Change {
  readonly type: string
  readonly path: string
}
export type ChangeListener = (changes: readonly Change[], isTruncated: boolean) => void
export const changeListeners = new Set<ChangeListener>()

/** The last event, for screen readers. */
export const announcement = signal('')
