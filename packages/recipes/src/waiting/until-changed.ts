import {
  isRefusal,
  type Client,
  type Data,
  type OneShotWatch,
  type Stat,
  type WatchEvent,
} from '@zabra/client'
import { onAbort } from '@zabra/client/internal'

type EventType = WatchEvent['type']

/** Notifies a waiter once when a path has changed. */
interface Notifier {
  readonly notify: OneShotWatch
  readonly listeners: Set<(type: EventType) => void>
  isArmed: boolean
}

/**
 * One function for each path and kind: a client keeps the same function only once, so waiting again
 * and again for the same node does not pile up watches.
 */
const notifiersOf = new WeakMap<Client, Map<string, Notifier>>()

function notifierFor(client: Client, key: string): Notifier {
  let notifiers = notifiersOf.get(client)
  if (notifiers === undefined) notifiersOf.set(client, (notifiers = new Map()))
  const there = notifiers.get(key)
  if (there !== undefined) return there
  const notifier: Notifier = {
    notify: ({ type }) => {
      if (notifiers.get(key) === notifier) notifiers.delete(key)
      for (const listener of notifier.listeners) listener(type)
    },
    listeners: new Set(),
    isArmed: false,
  }
  notifiers.set(key, notifier)
  return notifier
}

interface Waited<T> {
  readonly value: T
  /** The event that ended the wait; undefined if there was none to wait for. */
  readonly type: EventType | undefined
}

/**
 * Reads with a watch. If `stays` returns true for the result, waits until it may have changed, or
 * until no more changes would be reported.
 */
async function readAndWait<T>(
  client: Client,
  key: string,
  signal: AbortSignal,
  read: (watch: OneShotWatch) => Promise<T>,
  stays: (value: T) => boolean,
): Promise<Waited<T>> {
  const notifier = notifierFor(client, key)
  const listening = listen(notifier)
  try {
    const value = await read(notifier.notify)
    notifier.isArmed = true
    const type = stays(value) ? await listening.notified(signal) : undefined
    return { value, type }
  } finally {
    listening.stop()
    const notifiers = notifiersOf.get(client)
    if (!notifier.isArmed && notifier.listeners.size === 0 && notifiers?.get(key) === notifier)
      notifiers.delete(key)
  }
}

/** Before the read: the event may come together with the reply. */
function listen(notifier: Notifier) {
  let told: EventType | undefined
  let wake: (type: EventType) => void = () => {}
  const listener = (type: EventType): void => {
    told ??= type
    wake(type)
  }
  notifier.listeners.add(listener)
  return {
    notified(signal: AbortSignal): Promise<EventType> {
      if (told !== undefined) return Promise.resolve(told)
      return new Promise((resolve, reject) => {
        const stop = onAbort(signal, reject)
        wake = (type) => {
          stop()
          resolve(type)
        }
      })
    },
    stop: () => notifier.listeners.delete(listener),
  }
}

/**
 * Waits for a change of an existing node; resolves at once if it does not exist, or its data is no
 * reason to wait.
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

/** Waits until the node does not exist, if only for a moment. */
export async function untilGone(client: Client, path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { value, type } = await readExistence(client, path, signal, (stat) => stat !== undefined)
    // To read again would leave a watch behind on a node that may never come again.
    if (value === undefined || type === 'deleted') return
  }
}

/** Waits until the node exists, and resolves to its stat. */
export async function untilThere(client: Client, path: string, signal: AbortSignal): Promise<Stat> {
  for (;;) {
    const { value, type } = await readExistence(client, path, signal, (stat) => stat === undefined)
    const stat = type === 'created' ? await client.exists(path, { signal }) : value
    if (stat !== undefined) return stat
  }
}

function readExistence(
  client: Client,
  path: string,
  signal: AbortSignal,
  stays: (stat: Stat | undefined) => boolean,
): Promise<Waited<Stat | undefined>> {
  const read = (watch: OneShotWatch): Promise<Stat | undefined> =>
    client.exists(path, { watch, signal })
  return readAndWait(client, `exists ${path}`, signal, read, stays)
}

/** Lists the children, and waits for a change of them if they are a reason to wait. */
export async function childrenAndWait(
  client: Client,
  path: string,
  signal: AbortSignal,
  stays: (children: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const read = (watch: OneShotWatch): Promise<string[]> => client.children(path, { watch, signal })
  const { value } = await readAndWait(client, `children ${path}`, signal, read, stays)
  return value
}
