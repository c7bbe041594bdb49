import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  OperationError,
  type CallOptions,
  type Client,
  type Codec,
} from '@zabra/client'
import { hold, type Held, type HoldOptions } from './holding/held.ts'
import { limited } from './waiting/limits.ts'
import { openLiveNode, type Interpret } from './live/live-node.ts'
import { persist } from './nodes/node.ts'
import { below } from './nodes/parents.ts'

export interface RendezvousOptions<T> extends CallOptions {
  readonly codec: Codec<T>
}

/** The announced value, and how long it is valid. */
export interface Meeting<T> extends AsyncDisposable {
  readonly value: T
  /** Aborts when the place is deleted, or when this client is closed and cannot know. */
  readonly over: AbortSignal
  /** Stops watching the place, as `await using` does: `over` aborts. */
  close(): Promise<void>
}

/**
 * Creates a place whose path can be passed on before its value is known. It is deleted with this
 * session, or when it is released.
 */
export function openRendezvous(
  { patient: client }: Client,
  folder: string,
  options: CallOptions & HoldOptions = {},
): Promise<Held> {
  return limited(client, options, async (signal) => {
    const place = joinPath(folder, 'rendezvous')
    const create = () => client.create(place, '', { ephemeral: true, protect: true, signal })
    return hold(client, await below(client, folder, { signal }, create), options)
  })
}

/**
 * Announces the value that the others wait for. That is possible once: resolves to false if another
 * value was announced before. Rejects with `noNode` if the place does not exist.
 */
export async function fillRendezvous<T>(
  { patient: client }: Client,
  path: string,
  value: T,
  options: RendezvousOptions<T>,
): Promise<boolean> {
  const data = options.codec.encode(value)
  const say = async (signal: AbortSignal): Promise<boolean> => {
    let isUncertain = false
    for (;;) {
      try {
        await client.set(path, data, { signal, ifVersion: 0 })
        return true
      } catch (error) {
        if (error instanceof ConnectionLossError) isUncertain ||= error.mayHaveHappened
        else if (!isRefusal(error, 'badVersion')) throw error
        else if (!isUncertain) return false
        else {
          const { data: said } = await client.get(path, { signal })
          return said.length === data.length && said.every((byte, i) => byte === data[i])
        }
      }
    }
  }
  return limited(client, options, say, true)
}

/** Waits for the value. Rejects with `noNode` if the place does not exist, or is deleted. */
export function joinRendezvous<T>(
  { patient: client }: Client,
  path: string,
  options: RendezvousOptions<T>,
): Promise<Meeting<T>> {
  const interpret: Interpret<T> = (node) => {
    if (node === undefined) throw new OperationError('noNode', { path })
    return node.stat.version === 0 ? undefined : { value: options.codec.decode(node.data) }
  }
  return limited(client, options, async (signal) => {
    // The path may have come faster than the place came to this server.
    await persist(client, signal, () => client.sync(path, { signal }))
    const said = await openLiveNode(client, path, interpret, { signal })
    return {
      value: said.current,
      over: said.signal,
      close: () => said.close(),
      [Symbol.asyncDispose]: () => said.close(),
    }
  })
}
