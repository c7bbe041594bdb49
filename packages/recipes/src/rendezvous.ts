import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  OperationError,
  type CallOptions,
  type Client,
  type Codec,
} from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { hold, type Held, type HoldOptions } from './holding/held.ts'
import { limited } from './waiting/limits.ts'
import { openLiveNode, type Interpret } from './live/live-node.ts'
import { persist } from './nodes/node.ts'
import { below } from './nodes/parents.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface RendezvousOptions<T> {
  /** Of the value. */
  readonly codec: Codec<T>
}

/** The value that was announced, and until when it holds. */
export interface Meeting<T> extends AsyncDisposable {
  readonly value: T
  /** Aborts when the place is deleted, or when this client is closed and cannot know. */
  readonly over: AbortSignal
  /**
   * Stops watching the place, as `await using` does: `over` aborts.
   *
   *     const meeting = await rendezvous.join()
   *     await meeting.close()
   */
  close(): Promise<void>
}

/**
 * A place whose path can be handed on before its value is known: one program opens it, one announces it,
 * others join it and get the value.
 *
 *     await using place = await Rendezvous.open(client, '/jobs')
 *     const rendezvous = new Rendezvous(client, place.path, { codec: text })
 *     const joined = rendezvous.join()
 *     await rendezvous.announce('10.0.0.1:7000')
 *     console.log((await joined).value)
 */
export class Rendezvous<T> {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>

  /** The place at a path that somebody has opened. */
  constructor(client: Client, path: string, options: RendezvousOptions<T>) {
    this.client = client.patient
    this.path = checkPath(path)
    this.codec = codecOption('Rendezvous', options)
  }

  /**
   * Creates a place below a folder. It ends with this session, or when it is released.
   *
   *     await using place = await Rendezvous.open(client, '/jobs')
   *     console.log(place.path) // for those who meet there
   */
  static open(
    { patient: client }: Client,
    folder: string,
    options: CallOptions & HoldOptions = {},
  ): Promise<Held> {
    const open = async (signal: AbortSignal): Promise<Held> => {
      const place = joinPath(folder, 'rendezvous')
      const create = () => client.create(place, '', { ephemeral: true, protect: true, signal })
      return hold(client, await below(client, folder, { signal }, create), options)
    }
    return limited(client, options, open, false, { path: folder, names: { lostOn: true } })
  }

  /**
   * Announces the value, which can be done once: resolves to false if another value was announced
   * before. Rejects with `noNode` if the place is gone.
   *
   *     if (!(await rendezvous.announce('10.0.0.1:7000'))) console.log('somebody was faster')
   */
  async announce(value: T, options: CallOptions = {}): Promise<boolean> {
    const { client, path, codec } = this
    const data = codec.encode(value)
    const write = async (signal: AbortSignal): Promise<boolean> => {
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
            const { data: announced } = await client.get(path, { signal })
            return announced.length === data.length && announced.every((b, i) => b === data[i])
          }
        }
      }
    }
    return limited(client, options, write, true)
  }

  /**
   * Waits for the value. Rejects with `noNode` if the place is gone, or goes meanwhile.
   *
   *     await using meeting = await rendezvous.join({ timeoutMs: 60_000 })
   *     console.log(meeting.value)
   */
  join(options: CallOptions = {}): Promise<Meeting<T>> {
    const { client, path, codec } = this
    const interpret: Interpret<T> = (node) => {
      if (node === undefined) throw new OperationError('noNode', { path })
      return node.stat.version === 0 ? undefined : { value: codec.decode(node.data) }
    }
    return limited(client, options, async (signal) => {
      // The path came by other ways, perhaps before this server knows of the place.
      await persist(client, signal, () => client.sync(path, { signal }))
      const announced = await openLiveNode(client, path, interpret, { signal })
      return {
        value: announced.current,
        over: announced.signal,
        close: () => announced.close(),
        [Symbol.asyncDispose]: () => announced.close(),
      }
    })
  }
}
