import { effect, signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { Dialog } from './dialog.tsx'
import { lazy } from './lazy.tsx'
import { switchTo } from './live.ts'
import { candidates, failing, home, idle, isAway, isChosen, nameOf, server } from './servers.ts'
import { SignIn } from './sign-in.tsx'
import {
  announcement,
  credentials,
  hrefOf,
  isNobody,
  isSigningIn,
  link,
  place,
  signInReason,
  views,
  who,
  type View,
} from './state.ts'
import { TreeView } from './tree-view.tsx'

const titles: Readonly<Record<View, string>> = {
  tree: 'Tree',
  history: 'History',
  ensemble: 'Ensemble',
  sessions: 'Sessions',
  locks: 'Locks',
  load: 'Load',
}
const pages: Readonly<Record<View, ComponentType>> = {
  tree: TreeView,
  history: lazy(async () => (await import('./history/history-view.tsx')).HistoryView),
  ensemble: lazy(async () => (await import('./ensemble/ensemble-view.tsx')).EnsembleView),
  sessions: lazy(async () => (await import('./sessions/sessions-view.tsx')).SessionsView),
  locks: lazy(async () => (await import('./coordination/coordination-view.tsx')).CoordinationView),
  load: lazy(async () => (await import('./load/load-view.tsx')).LoadView),
}

type Theme = 'light' | 'dark'
const themeKey = 'zabra.theme'
const preferred: Theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
const theme = signal<Theme>((localStorage.getItem(themeKey) as Theme | null) ?? preferred)
theme.subscribe((value) => (document.documentElement.dataset['theme'] = value))

function switchTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark'
  localStorage.setItem(themeKey, theme.value)
}

export function App() {
  const { view } = place.value
  const Page = pages[view]
  const reason = signInReason.value
  const user = credentials.value?.user
  return (
    <>
      <header class="bar">
        <a class="brand" href={hrefOf('tree')}>
          zabra
        </a>
        <nav aria-label="Views">
          {views.map((each) => (
            <a key={each} href={hrefOf(each)} aria-current={each === view ? 'page' : undefined}>
              {titles[each]}
              {each === 'ensemble' && <Failing />}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <Status />
        <button type="button" onClick={switchTheme}>
          {theme.value === 'dark' ? 'Light' : 'Dark'}
        </button>
        {/* While the page asks for credentials, its form has this button. */}
        {reason === undefined && (
          <button
            type="button"
            onClick={() => {
              if (user === undefined) isSigningIn.value = true
              else credentials.value = undefined
            }}
          >
            {user === undefined ? 'Sign in' : `Sign out ${user}`}
          </button>
        )}
      </header>
      {link.value === 'lost' ? <Lost /> : isAway.value && <Away />}
      {isNobody.value && user !== undefined && <Nobody user={user} />}
      <main aria-label={titles[view]}>
        <h1 class="hidden">{titles[view]}</h1>
        {reason === undefined ? who.value !== undefined && <Page /> : <SignIn reason={reason} />}
      </main>
      {isSigningIn.value && (
        <Dialog title="Sign in" onClose={() => (isSigningIn.value = false)}>
          <SignIn />
        </Dialog>
      )}
      <div class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  )
}

function Lost() {
  const isAlone = candidates().length < 2
  const { value } = idle
  if (value !== undefined) {
    const doing = value.state === 'looking' ? 'is looking for a leader' : `is ${value.state}`
    return (
      <p class="banner" role="alert">
        No server serves: {nameOf(value.server)} {doing}. What you see may be out of date; trying
        again. <a href={hrefOf('ensemble')}>The ensemble</a>{' '}
        <a href={hrefOf('ensemble', { show: 'log' })}>Its log</a>
      </p>
    )
  }
  return (
    <p class="banner" role="alert">
      The connection to {nameOf(server.value)} is lost. What you see may be out of date;{' '}
      {isAlone ? 'trying again.' : 'looking for a server that answers.'}
    </p>
  )
}

/** Says that another member answers than the one that this page came from. */
function Away() {
  const own = candidates().find(({ origin }) => origin === home) ?? { id: undefined, origin: home }
  return (
    <p class="banner away" role="status">
      <span>
        {isChosen.value
          ? `This page shows ${nameOf(server.value)}.`
          : `The connection to ${nameOf(own)} was lost. This page continues with ${nameOf(server.value)}.`}
      </span>
      <button type="button" onClick={() => switchTo(own)}>
        Back to {nameOf(own)}
      </button>
    </p>
  )
}

/** How many servers do not serve, as the page last heard. */
function Failing() {
  const { value } = failing
  if (value === 0) return null
  return (
    <>
      {' '}
      <span class="badge alarm">
        {value}
        <span class="hidden">{value === 1 ? ' server does' : ' servers do'} not serve</span>
      </span>
    </>
  )
}

/** ZooKeeper takes any password: a wrong one makes another user, whom nobody knows. */
function Nobody({ user }: { readonly user: string }) {
  return (
    <p class="banner away" role="status">
      <span>
        You are signed in as {user}, but this server gives that user and password no role. Check the
        password, unless only ACLs of znodes name this user.
      </span>
      <button type="button" onClick={() => (isNobody.value = false)}>
        Close
      </button>
    </p>
  )
}

function Status() {
  const found = signInReason.value === undefined ? who.value : undefined
  const texts = { live: 'Live', lost: 'Not connected', connecting: 'Connecting' }
  return (
    <span class={`status ${link.value}`}>
      <span class="dot" aria-hidden="true" />
      {texts[link.value]}
      {found !== undefined && link.value === 'live' && (
        <span class="muted wide">
          {' '}
          {server.value.id !== undefined &&
            server.value.id !== '0' &&
            `server ${server.value.id}, `}
          {found.server.state}; your role: {roleTexts[found.role]}
        </span>
      )}
    </span>
  )
}

const roleTexts = {
  none: 'none',
  metadata: 'names only',
  read: 'read',
  write: 'read and write',
  admin: 'administrator',
} as const

/** The title of tabs, bookmarks and browser history: the view and its servers. */
effect(() => {
  const { view, query } = place.value
  const session = query.get('id')
  const shown =
    view === 'tree'
      ? (query.get('path') ?? '/')
      : view === 'sessions' && session !== null
        ? `Session ${session}`
        : view === 'locks'
          ? (query.get('line') ?? titles[view])
          : titles[view]
  const isLost = link.value === 'lost'
  document.title = `${isLost ? '(not connected) ' : ''}${shown} – zabra at ${location.host}`
})
