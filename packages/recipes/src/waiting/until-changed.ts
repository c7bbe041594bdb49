import { isRefusal, type Client, type Data, type OneShotWatch, type Stat } from '@zabra/client'
import { onAbort } from '@zabra/client/internal'

/** Something that rings once when a path has changed. */
interface Bell {
  readonly ring: OneShotWatch
  readonly listeners: Set<() => void>
  isArmed: boolean
}

/**
 * One bell for each path and kind: a client keeps the same function once, so that whoever waits
 * again and again for the same node does not pile up watches.
 */
const bellsOf = new WeakMap<Client, Map<string, Bell>>()

function bellFor(client: Client, key: string): Bell {
  let bells = bellsOf.get(client)
  if (bells === undefined) bellsOf.set(client, (bells = new Map()))
  const there = bells.get(key)
  if (there !== undefined) return there
  const bell: Bell = {
    ring: () => {
      if (bells.get(key) === bell) bells.delete(key)
      for (const listener of bell.listeners) listener()
    },
    listeners: new Set(),
    isArmed: false,
  }
  bells.set(key, bell)
  return bell
}

/**
 * Reads under a watch. Where `stays` says so of what was read, waits until it may have changed,
 * which is also when nobody would tell any more.
 */
async function readAndWait<T>(
  client: Client,
  key: string,
  signal: AbortSignal,
  read: (watch: OneShotWatch) => Promise<T>,
  stays: (value: T) => boolean,
): Promise<T> {
  const bell = bellFor(client, key)
  const listening = listen(bell)
  try {
    const value = await read(bell.ring)
    bell.isArmed = true
    if (stays(value)) await listening.rung(signal)
    return value
  } finally {
    listening.stop()
    const bells = bellsOf.get(client)
    if (!bell.isArmed && bell.listeners.size === 0 && bells?.get(key) === bell) bells.delete(key)
  }
}

/** From before the read: the news may come in one piece with the reply. */
function listen(bell: Bell) {
  let hasRung = false
  let wake = (): void => {}
  const listener = (): void => {
    hasRung = true
    wake()
  }
  bell.listeners.add(listener)
  return {
    rung(signal: AbortSignal): Promise<void> {
      if (hasRung) return Promise.resolve()
      return new Promise((resolve, reject) => {
        const stop = onAbort(signal, reject)
        wake = () => {
          stop()
          resolve()
        }
      })
    },
    stop: () => bell.listeners.delete(listener),
  }
}

/**
 * Waits for a change of a node that is there; resolves at once where there is none, or where what
 * it holds is no reason to wait.
 */
export async function untilChanged(
  client: Client,
  path: string,
  signal: AbortSignal,
  stays: (node: Data) => boolean = () => true,
): Promise<void> {
  try {
    // Not `exists`: that would leave a watch behind on a node that never comes again.
    const read = (watch: OneShotWatch): Promise<Data> => client.get(path, { watch, signal })
    await readAndWait(client, `node ${path}`, signal, read, stays)
  } catch (error) {
    if (!isRefusal(error, 'noNode')) throw error
  }
}

/** Waits until the node is not there. */
export async function untilGone(client: Client, path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const stat = await readExistence(client, path, signal, (there) => there !== undefined)
    if (stat === undefined) return
  }
}

/** Waits until the node is there, and answers its stat. */
export async function untilThere(client: Client, path: string, signal: AbortSignal): Promise<Stat> {
  for (;;) {
    const stat = await readExistence(client, path, signal, (there) => there === undefined)
    if (stat !== undefined) return stat
  }
}

function readExistence(
  client: Client,
  path: string,
  signal: AbortSignal,
  stays: (stat: Stat | undefined) => boolean,
): Promise<Stat | undefined> {
  const read = (watch: OneShotWatch): Promise<Stat | undefined> =>
    client.exists(path, { watch, signal })
  return readAndWait(client, `exists ${path}`, signal, read, stays)
}

/** Lists the children, and waits for a change of them where these are a reason to wait. */
export function childrenAndWait(
  client: Client,
  path: string,
  signal: AbortSignal,
  stays: (children: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const read = (watch: OneShotWatch): Promise<string[]> => client.children(path, { watch, signal })
  return readAndWait(client, `children ${path}`, signal, read, stays)
}
