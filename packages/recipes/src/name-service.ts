import {
  ConnectionLossError,
  isRefusal,
  type CallOptions,
  type Client,
  type Codec,
  type ReadOptions,
} from '@zabra/client'
import { limited } from './limits.ts'
import type { Live } from './live.ts'
import { openLiveNode } from './live-node.ts'
import { persist } from './node.ts'
import { below, join, parentOf } from './parents.ts'
import { Registration } from './registration.ts'

export interface NameServiceOptions<T> {
  readonly codec: Codec<T>
}

/**
 * Names that stand for something: addresses, ids, whatever the codec makes of it. A name may have
 * parts, separated by slashes. Those before the last are folders: nodes without data, that stand for nothing.
 */
export class NameService<T> {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>

  constructor(client: Client, path: string, { codec }: NameServiceOptions<T>) {
    this.client = client.patient
    this.path = path
    this.codec = codec
  }

  /** Gives a name to something; answers false where it stands for something else already. */
  async bind(name: string, value: T, options: CallOptions = {}): Promise<boolean> {
    const at = join(this.path, name)
    const data = this.encode(value)
    return limited(this.client, options, (signal) => this.bindOnce(at, data, signal), true)
  }

  /** Lets a name stand for something, whatever it stood for before. */
  async rebind(name: string, value: T, options: CallOptions = {}): Promise<void> {
    const at = join(this.path, name)
    const data = this.encode(value)
    const { client } = this
    const set = async (signal: AbortSignal): Promise<void> => {
      for (;;) {
        try {
          await persist(client, signal, () => client.set(at, data, { signal }))
          return
        } catch (error) {
          if (!isRefusal(error, 'noNode')) throw error
        }
        if (await this.bindOnce(at, data, signal)) return
      }
    }
    await limited(client, options, set, true)
  }

  /** Answers whether the name stood for anything. */
  unbind(name: string, options: CallOptions = {}): Promise<boolean> {
    const remove = async (signal: AbortSignal): Promise<boolean> => {
      let isUncertain = false
      for (;;) {
        try {
          await this.client.delete(join(this.path, name), { signal })
          return true
        } catch (error) {
          if (isRefusal(error, 'noNode')) return isUncertain
          if (!(error instanceof ConnectionLossError)) throw error
          isUncertain ||= error.mayHaveHappened
        }
      }
    }
    return limited(this.client, options, remove, true)
  }

  /**
   * Holds a name for as long as this program lives, through one session after the other. Waits
   * where somebody else holds it.
   */
  register(name: string, value: T, options: CallOptions = {}): Promise<Registration<T>> {
    return limited(this.client, options, async (signal) => {
      const at = join(this.path, name)
      const registration = new Registration(this.client, at, this.codec, value)
      await registration.registered(signal)
      return registration
    })
  }

  /** What the name stands for; undefined where it stands for nothing. */
  async lookup(name: string, options: ReadOptions = {}): Promise<T | undefined> {
    try {
      const { data } = await this.client.get(join(this.path, name), options)
      return this.meaning(data)
    } catch (error) {
      if (isRefusal(error, 'noNode')) return undefined
      throw error
    }
  }

  /** Waits until the name stands for something. */
  resolve(name: string, options: CallOptions = {}): Promise<T> {
    return limited(this.client, options, async (signal) => {
      await using live = await this.live(name, { signal })
      return (await live.until((value) => value !== undefined, { signal })) as T
    })
  }

  /** What the name stands for, kept up to date until that is disposed of. */
  live(name: string, options: CallOptions = {}): Promise<Live<T | undefined>> {
    return openLiveNode<T | undefined>(
      this.client,
      join(this.path, name),
      (node) => ({ value: node === undefined ? undefined : this.meaning(node.data) }),
      options,
    )
  }

  /** The names and folders in a folder, sorted; by default those at the top. */
  async list(folder = '', options: ReadOptions = {}): Promise<string[]> {
    try {
      const at = folder === '' ? this.path : join(this.path, folder)
      return (await this.client.children(at, options)).toSorted()
    } catch (error) {
      if (isRefusal(error, 'noNode')) return []
      throw error
    }
  }

  private async bindOnce(at: string, data: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const { client } = this
    const create = () => client.create(at, data, { signal })
    let isUncertain = false
    for (;;) {
      try {
        await below(client, parentOf(at), { signal }, create)
        return true
      } catch (error) {
        if (error instanceof ConnectionLossError) isUncertain ||= error.mayHaveHappened
        else if (!isRefusal(error, 'nodeExists')) throw error
        else if (!isUncertain) return false
        else {
          // What is there may be ours, by a request whose reply was lost.
          const { data: found } = await client.get(at, { signal })
          return found.length === data.length && found.every((byte, i) => byte === data[i])
        }
      }
    }
  }

  private encode(value: T): Uint8Array {
    const data = this.codec.encode(value)
    if (data.length === 0) throw new TypeError('a name cannot stand for nothing')
    return data
  }

  private meaning(data: Uint8Array): T | undefined {
    return data.length === 0 ? undefined : this.codec.decode(data)
  }
}
