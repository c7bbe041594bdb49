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

/** What was said at the place, and until when it holds. */
export interface Meeting<T> extends AsyncDisposable {
  readonly value: T
  /** Aborts when the place is gone, or when this client is closed and cannot know. */
  readonly over: AbortSignal
  /** Stops watching the place, as `await using` does: `over` aborts. */
  close(): Promise<void>
}

/**
 * Makes a place whose path can be handed on before it is known what will be said there. It goes
 * with this session, or when it is released.
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
 * Says what the others wait for. That can be said once: answers false where something else was
 * said before. Rejects with `noNode` where the place is gone.
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

/** Waits until it is said. Rejects with `noNode` where the place is gone, or goes meanwhile. */
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
    // The path came by other ways, perhaps sooner than the place came to this server.
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
