import type { Client, State } from '@zabra/client'
import { callNames, checkOptionNames } from '@zabra/client/internal'

export interface WaitOptions {
  /** The limit after which it rejects; 30 s by default, `Infinity` for none. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PollOptions extends WaitOptions {
  /** The interval of polling; 20 ms by default. */
  readonly everyMs?: number | undefined
}

const defaultTimeoutMs = 30_000
const defaultEveryMs = 20

/**
 * The condition did not become true in time.
 *
 *     if (error instanceof WaitTimeoutError) console.log(error.message)
 */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError'
}

/**
 * Polls a condition, which may be async, and resolves to its first truthy value. If it throws, that
 * counts as false; the last error is the cause of the final error.
 *
 *     await until(async () => (await client.children('/workers')).length === 3)
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: PollOptions = {},
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  checkOptionNames('until', options, { timeoutMs: true, signal: true, everyMs: true })
  const { everyMs = defaultEveryMs, ...limits } = options
  limits.signal?.throwIfAborted()
  let cause: unknown
  type Truthy = Exclude<T, false | null | undefined | 0 | ''>
  try {
    return await untilCalled<Truthy>(textOf(condition), limits, (resolve) => {
      const over = new AbortController()
      const poll = async (): Promise<void> => {
        while (!over.signal.aborted) {
          try {
            const result = await condition()
            if (result) return resolve(result as Truthy)
            cause = undefined
          } catch (error) {
            cause = error
          }
          await new Promise((next) => setTimeout(next, everyMs))
        }
      }
      void poll()
      return () => over.abort()
    })
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error
    throw new WaitTimeoutError(error.message, { cause })
  }
}

/**
 * Resolves when the client is in this state, at once if it already is.
 *
 *     await untilState(client, 'suspended')
 */
export function untilState<Name extends State['name']>(
  client: Client,
  name: Name,
  options: WaitOptions = {},
): Promise<Extract<State, { name: Name }>> {
  if (client.state.name === name)
    return Promise.resolve(client.state as Extract<State, { name: Name }>)
  return nextState(client, name, options)
}

/**
 * Resolves at the next change to this state, even if the client is in it already.
 *
 *     const resumed = nextState(client, 'connected')
 *     proxy.reset()
 *     console.log((await resumed).resumed)
 */
export function nextState<Name extends State['name']>(
  client: Client,
  name: Name,
  options: WaitOptions = {},
): Promise<Extract<State, { name: Name }>> {
  return untilCalled(`the client is ${name}`, options, (resolve) =>
    client.onState((state) => {
      if (state.name === name) resolve(state as Extract<State, { name: Name }>)
    }),
  )
}

/**
 * Resolves to the names of the children when the node has this many; a missing node has none. It
 * waits by watches.
 *
 *     const names = await untilChildren(client, '/workers', 3)
 */
export async function untilChildren(
  client: Client,
  path: string,
  count: number,
  options: WaitOptions = {},
): Promise<string[]> {
  const { timeoutMs = defaultTimeoutMs, signal } = options
  const deadlineMs = performance.now() + timeoutMs
  for (;;) {
    let wake = (): void => {}
    const changed = new Promise<void>((resolve) => (wake = resolve))
    const isThere = (await client.exists(path, { watch: wake })) !== undefined
    // The node may be deleted in between.
    const children = isThere ? await client.children(path, { watch: wake }).catch(() => []) : []
    if (children.length === count) return children
    const leftMs = deadlineMs - performance.now()
    const what = `${path} has ${count} children, and not ${children.length}`
    const listen = (resolve: (value: void) => void): (() => void) => {
      void changed.then(resolve)
      return () => {}
    }
    await untilCalled(what, { timeoutMs: leftMs, signal }, listen, timeoutMs)
  }
}

/**
 * Resolves to the signal's reason when it aborts.
 *
 *     const reason = await aborted(held.signal)
 */
export function aborted(signal: AbortSignal, options: WaitOptions = {}): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason)
  return untilCalled('the signal aborts', options, (resolve) => {
    const heard = (): void => resolve(signal.reason)
    signal.addEventListener('abort', heard, { once: true })
    return () => signal.removeEventListener('abort', heard)
  })
}

/**
 * Resolves when `listen` calls back, or rejects after the limit. `listen` returns a function that
 * stops it.
 */
export function untilCalled<T>(
  what: string,
  options: WaitOptions,
  listen: (resolve: (value: T) => void) => () => unknown,
  /** The limit that a message names, if this wait is the rest of a longer one. */
  namedMs = options.timeoutMs ?? defaultTimeoutMs,
): Promise<T> {
  const { timeoutMs = defaultTimeoutMs, signal } = options
  return new Promise((resolve, reject) => {
    // Rejects if an option is another one.
    checkOptionNames('a wait', options, callNames)
    let stop = (): unknown => undefined
    const end = (act: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      stop()
      act()
    }
    const onAbort = (): void => end(() => reject(signal?.reason as Error))
    const late = new WaitTimeoutError(`not within ${Math.round(namedMs)} ms: ${what}`)
    // Node would turn Infinity into 1 ms.
    const timer =
      timeoutMs === Infinity
        ? undefined
        : setTimeout(() => end(() => reject(late)), Math.max(0, timeoutMs))
    stop = listen((value) => end(() => resolve(value)))
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function textOf(condition: () => unknown): string {
  return String(condition).replace(/^(?:async )?\(\) => /, '')
}
