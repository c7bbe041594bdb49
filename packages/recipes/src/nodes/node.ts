import {
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  type Client,
  type Consistency,
  type Stat,
} from '@zabra/client'
import { pause } from '@zabra/client/internal'
import { underAll } from '../waiting/limits.ts'
import { refusedPauseMs } from '../waiting/pause.ts'

/** A node as it was read. */
export interface NodeState {
  readonly path: string
  readonly data: Uint8Array
  readonly stat: Stat
}

/**
 * Reads a node, however often the connection or the session is lost meanwhile; undefined where
 * there is none, or none that this client may read.
 */
export async function readNode(
  client: Client,
  path: string,
  signal?: AbortSignal,
  consistency?: Consistency,
): Promise<NodeState | undefined> {
  try {
    return await persist(client, signal, async () => {
      const { data, stat } = await client.get(path, { signal, consistency })
      return { path, data, stat }
    })
  } catch (error) {
    if (isRefusal(error, 'noNode', 'noAuth')) return undefined
    throw error
  }
}

/** Tells how a node is, now and after each change, until the signal aborts or the client is closed. */
export async function followNode(
  { patient: client }: Client,
  path: string,
  signal: AbortSignal,
  tell: (node: NodeState | undefined) => void,
): Promise<void> {
  for await (const { type } of client.watch(path, { initial: true, signal })) {
    if (type !== 'children' && type !== 'sessionExpired') tell(await readNode(client, path, signal))
  }
}

/**
 * As `persist`, to find out what became of something; also where the server refuses for a while.
 * What it had begun before that may still come to be, so not to know would be to leave it behind.
 */
export async function findOut<T>(
  client: Client,
  signal: AbortSignal | undefined,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await persist(client, signal, act)
    } catch (error) {
      if (!isRefusal(error) || isRefusal(error, 'noNode', 'noAuth')) throw error
    }
    await pause(client.host, refusedPauseMs, signal)
  }
}

/** Does again what may be done twice, on the next connection or in the next session. */
export async function persist<T>(
  client: Client,
  signal: AbortSignal | undefined,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const isTemporary =
        error instanceof ConnectionLossError || error instanceof SessionExpiredError
      if (!isTemporary) throw error
    }
    await client.connected({ signal })
  }
}

/**
 * Does something as long as the connection lasts over which it begins: with that it is given up,
 * as a lost connection, and nothing of it is sent over the next.
 */
export async function overOneConnection<T>(
  client: Client,
  signal: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (client.state.name !== 'connected') throw new ConnectionLossError(false)
  const lost = new AbortController()
  const stop = client.onState(() => lost.abort(new ConnectionLossError(true)))
  try {
    return await underAll([signal, lost.signal], act)
  } finally {
    stop()
  }
}
