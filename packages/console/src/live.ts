/**
 * The connection to the ensemble: one stream brings what changes. When it ends, the page looks for a
 * server again, first the one it used, then the other members.
 */
import { ApiError, events, get, greet, whoAmIAt, type Ensemble, type WhoAmI } from './api.ts'
import {
  candidates,
  forgetZxid,
  idle,
  isAway,
  isBehind,
  isChosen,
  learnServers,
  nameOf,
  server,
  servers,
  type Server,
} from './servers.ts'
import {
  announcement,
  changeListeners,
  credentials,
  generation,
  isNobody,
  link,
  roleOfAll,
  signInReason,
  who,
  type Change,
} from './state.ts'

/** After a stream that worked. */
const shortPauseMs = 100
const firstPauseMs = 500
const longestPauseMs = 5000
/** How long a server may be behind what this page has shown before it is taken anyway. */
const catchUpMsMax = 15_000
const learnEveryMs = 15_000
/** The first pause while a member does not answer. */
const learnAgainMs = 2000
let attempt = new AbortController()

/** Starts again at once, as somebody else for example. */
function reconnect(): void {
  attempt.abort()
}

credentials.subscribe(() => reconnect())

/** Goes to a server that the user chose. */
export function switchTo(next: Server): void {
  server.value = next
  isChosen.value = true
  reconnect()
}

export async function follow(): Promise<void> {
  let pauseMs = firstPauseMs
  let behindSince: number | undefined
  for (;;) {
    attempt = new AbortController()
    const { signal } = attempt
    let wasOpen = false
    let isAnyBehind = false
    let idleNow: typeof idle.value
    for (const candidate of candidates()) {
      try {
        await session(candidate, signal, () => (wasOpen = true))
      } catch (error) {
        if (isDenial(error) && !signal.aborted) {
          signInReason.value = error.message
          link.value = 'live'
          await aborted(signal)
        }
        isAnyBehind ||= error instanceof Behind
        if (error instanceof Idle) {
          const { found } = error
          idleNow ??= { server: candidate, state: found.server.state }
          // There is nothing to follow, but the ensemble and the log can be looked at.
          who.value ??= found
        }
      }
      if (signal.aborted) break
      lose()
      if (wasOpen) break
    }
    if (signal.aborted) continue
    idle.value = idleNow
    if (!isAnyBehind) behindSince = undefined
    else if (Date.now() - (behindSince ??= Date.now()) > catchUpMsMax) forgetZxid()
    pauseMs = wasOpen ? firstPauseMs : Math.min(longestPauseMs, pauseMs * 2)
    const pause = wasOpen ? shortPauseMs : pauseMs
    await Promise.race([new Promise((resolve) => setTimeout(resolve, pause)), aborted(signal)])
  }
}

/** A server that has applied less than this page has shown: with it, the page would go back in time. */
class Behind extends Error {}

/** A server that answers, but has no leader. */
class Idle extends Error {
  readonly found: WhoAmI

  constructor(found: WhoAmI) {
    super()
    this.found = found
  }
}

/** Credentials are the same at every member, so the next one would deny them, too. */
function isDenial(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.code === 'foreign') return false
  return error.status === 401 || error.status === 403
}

async function session(candidate: Server, signal: AbortSignal, onOpen: () => void): Promise<void> {
  const { origin } = candidate
  const { who: found, applied } = await whoAmIAt(origin, signal)
  if (isBehind(applied)) throw new Behind()
  if (found.role === 'none') {
    arrive(candidate, found)
    throw new ApiError(401, 'signIn', 'Sign in to see this server')
  }
  let learning: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  const learn = async (againMs: number): Promise<void> => {
    const isComplete = await learnMembers()
    const pauseMs = isComplete ? learnEveryMs : Math.min(learnEveryMs, againMs)
    if (!isOver) learning = setTimeout(() => void learn(pauseMs * 2), pauseMs)
  }
  try {
    for await (const { event, data } of events({ path: '/' }, { origin, signal })) {
      if (event === 'ready') {
        arrive(candidate, found)
        onOpen()
        open()
        void learn(learnAgainMs)
      } else if (event === 'changes') {
        const { changes, isTruncated } = data as { changes: Change[]; isTruncated: boolean }
        for (const listener of changeListeners) listener(changes, isTruncated)
      }
    }
  } catch (error) {
    throw error instanceof ApiError && error.code === 'notServing' ? new Idle(found) : error
  } finally {
    isOver = true
    clearTimeout(learning)
  }
}

/** The credentials with which a server was last reached. */
let lastHeader: string | undefined

function arrive(candidate: Server, found: WhoAmI): void {
  if (server.value.origin !== candidate.origin) {
    if (isChosen.value) announcement.value = `${nameOf(server.value)} does not answer`
    isChosen.value = false
  }
  server.value = candidate
  const { header } = credentials.value ?? {}
  if (header === undefined) roleOfAll.value = found.role
  if (header !== lastHeader) {
    isNobody.value = header?.startsWith('Basic ') === true && found.role === roleOfAll.value
    lastHeader = header
  }
  who.value = found
}

function open(): void {
  if (link.value === 'lost') {
    announcement.value = isAway.value
      ? `Continuing with ${nameOf(server.value)}`
      : 'Connected again'
  }
  link.value = 'live'
  idle.value = undefined
  signInReason.value = undefined
  generation.value++
}

/**
 * Where the other members are. They must know this page before its own server is gone. False if one
 * of them does not answer, so that its port may not be known, or does not know the page yet.
 */
async function learnMembers(): Promise<boolean> {
  const { members } = await get<Ensemble>('/ensemble').catch(() => ({ members: [] }))
  if (members.length === 0) return false
  learnServers(members)
  const { origin } = server.value
  const greeted = await Promise.all(
    servers.value.filter((each) => each.origin !== origin).map((each) => greet(each.origin)),
  )
  return greeted.every(Boolean) && members.every(({ state }) => state !== 'unreachable')
}

function lose(): void {
  if (link.value !== 'lost') {
    announcement.value = `The connection to ${nameOf(server.value)} is lost`
  }
  link.value = 'lost'
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
