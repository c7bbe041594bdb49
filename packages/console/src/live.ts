/** The connection to the server: what changes comes by one stream; when it ends, it is made again. */
import { ApiError, events, get, type Sample, type WhoAmI } from './api.ts'
import {
  announcement,
  changeListeners,
  credentials,
  generation,
  link,
  sampleListeners,
  signInReason,
  who,
  type Change,
} from './state.ts'

const firstPauseMs = 500
const longestPauseMs = 5000
/** The server says something every ten seconds. */
let attempt = new AbortController()

/** Starts again at once, as somebody else for example. */
export function reconnect(): void {
  attempt.abort()
}

credentials.subscribe(() => reconnect())

export async function follow(): Promise<void> {
  let pauseMs = firstPauseMs
  for (;;) {
    attempt = new AbortController()
    const { signal } = attempt
    try {
      await session(signal, () => (pauseMs = firstPauseMs))
      lose()
    } catch (error) {
      const isDenied = error instanceof ApiError && (error.status === 401 || error.status === 403)
      if (isDenied) {
        signInReason.value = error.message
        link.value = 'live'
        await aborted(signal)
      } else if (!signal.aborted) lose()
    }
    if (signal.aborted) continue
    await Promise.race([new Promise((resolve) => setTimeout(resolve, pauseMs)), aborted(signal)])
    pauseMs = Math.min(longestPauseMs, pauseMs * 2)
  }
}

async function session(signal: AbortSignal, onOpen: () => void): Promise<void> {
  const found = await get<WhoAmI>('/whoami')
  who.value = found
  if (found.role === 'none') throw new ApiError(401, 'signIn', 'Sign in to see this server')
  for await (const { event, data } of events({ path: '/', metrics: true }, signal)) {
    if (event === 'ready') {
      onOpen()
      if (link.value === 'lost') announcement.value = 'Connected again'
      link.value = 'live'
      signInReason.value = undefined
      generation.value++
    } else if (event === 'changes') {
      const { changes, isTruncated } = data as { changes: Change[]; isTruncated: boolean }
      for (const listener of changeListeners) listener(changes, isTruncated)
    } else if (event === 'metrics') {
      for (const listener of sampleListeners) listener(data as Sample)
    }
  }
}

function lose(): void {
  if (link.value !== 'lost') announcement.value = 'The connection to the server is lost'
  link.value = 'lost'
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
