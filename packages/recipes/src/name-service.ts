import {
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  type CallOptions,
  type Client,
  type Codec,
  type Data,
  type ReadOptions,
} from '@zabra/client'
import { limited, underAll } from './limits.ts'
import type { Live } from './live.ts'
import { openLiveNode, type LiveOptions } from './live-node.ts'
import { findOut, persist } from './node.ts'
import { below, join, parentOf } from './parents.ts'
import type { Problem } from './problem.ts'
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
    const bind = async (signal: AbortSignal): Promise<boolean> =>
      (await this.create(at, data, signal)).isBound
    return limited(this.client, options, bind, true)
  }

  /**
   * Lets a name stand for something, whatever it stood for before. Where the reply is lost and
   * somebody else has changed the name since, it rejects, with `mayHaveHappened`.
   */
  async rebind(name: string, value: T, options: CallOptions = {}): Promise<void> {
    const at = join(this.path, name)
    const data = this.encode(value)
    await limited(this.client, options, (signal) => this.setOrBind(at, data, signal), true)
  }

  /**
   * Answers whether the name stood for anything. Where the reply is lost and somebody else has
   * bound the name since, it rejects, with `mayHaveHappened`.
   */
  unbind(name: string, options: CallOptions = {}): Promise<boolean> {
    const at = join(this.path, name)
    return limited(this.client, options, (signal) => this.remove(at, signal), true)
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

  /** Waits until the name stands for something; rejects where that cannot be understood. */
  resolve(name: string, options: CallOptions = {}): Promise<T> {
    return limited(this.client, options, async (signal) => {
      const misfit = new AbortController()
      const onProblem = ({ problem }: Problem): void => misfit.abort(problem)
      await using live = await this.live(name, { signal, onProblem })
      const isSomething = (value: T | undefined): boolean => value !== undefined
      return await underAll(
        [signal, misfit.signal],
        async (either) => (await live.until(isSomething, { signal: either })) as T,
      )
    })
  }

  /** What the name stands for, kept up to date until that is disposed of. */
  live(name: string, options: LiveOptions = {}): Promise<Live<T | undefined>> {
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

  private async setOrBind(at: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    const { client } = this
    for (;;) {
      const before = await this.moment(signal)
      try {
        await client.set(at, data, { signal })
        return
      } catch (error) {
        if (isRefusal(error, 'noNode')) {
          const { isBound, loss } = await this.create(at, data, signal)
          if (isBound) return
          if (loss !== undefined) throw loss
        } else if (await this.mayHaveHappened(error, signal)) {
          const found = await this.lookSince(before, at, signal)
          if (found !== undefined && isEqual(found.data, data)) return
          const changedAt = found?.stat.mzxid ?? (await this.folderChangedAt(at, signal))
          // By this, and then by somebody else; or by somebody else alone.
          if (changedAt > before.zxid) throw error
        }
      }
    }
  }

  private async remove(at: string, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const before = await this.moment(signal)
      try {
        await this.client.delete(at, { signal })
        return true
      } catch (error) {
        if (isRefusal(error, 'noNode')) return false
        if (await this.mayHaveHappened(error, signal)) {
          const found = await this.lookSince(before, at, signal)
          if (found === undefined) return true
          // It was bound after the name was unbound by this; or before, and not seen yet.
          if (found.stat.czxid > before.zxid) throw error
        }
      }
    }
  }

  /** Where what is there does not tell whether this was bound for a while, the loss is told. */
  private async create(
    at: string,
    data: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ readonly isBound: boolean; readonly loss?: ConnectionLossError | undefined }> {
    const { client } = this
    const create = () => client.create(at, data, { signal })
    let loss: ConnectionLossError | undefined
    for (;;) {
      try {
        await below(client, parentOf(at), { signal }, create)
        return { isBound: true }
      } catch (error) {
        if (error instanceof ConnectionLossError) loss = error.mayHaveHappened ? error : loss
        else if (!isRefusal(error, 'nodeExists')) throw error
        else if (loss === undefined) return { isBound: false }
        else {
          // What is there may be ours, by a request whose reply was lost.
          const { data: found } = await client.get(at, { signal })
          return isEqual(found, data) ? { isBound: true } : { isBound: false, loss }
        }
      }
    }
  }

  // --- lost replies ----------------------------------------------------------------------------

  /** What is known when something is sent: not before there is a session to send it in. */
  private async moment(signal: AbortSignal): Promise<Moment> {
    await this.client.connected({ signal })
    const { lastZxid, session } = this.client
    return { zxid: lastZxid, session: session?.id }
  }

  /** Whether it is worth looking; throws what is no lost reply, or cannot be looked at. */
  private async mayHaveHappened(error: unknown, signal: AbortSignal): Promise<boolean> {
    if (error instanceof ConnectionLossError) return error.mayHaveHappened
    if (!(error instanceof SessionExpiredError) || error.mayHaveHappened) throw error
    await this.client.connected({ signal })
    return false
  }

  /** The node, when it is decided what becomes of all that was sent since. */
  private async lookSince(
    before: Moment,
    at: string,
    signal: AbortSignal,
  ): Promise<Data | undefined> {
    const { client } = this
    const look = () => client.get(at, { signal, consistency: 'session' })
    const found = await findOut(client, signal, look).catch((error: unknown) => {
      if (!isRefusal(error, 'noNode')) throw error
    })
    // In another session nothing keeps what is under way from happening later.
    if (client.session?.id !== before.session) throw new SessionExpiredError(true, { path: at })
    return found ?? undefined
  }

  /** When something came or went last where a node that is not there would be. */
  private async folderChangedAt(at: string, signal: AbortSignal): Promise<bigint> {
    const { client } = this
    for (let folder = parentOf(at); ; folder = parentOf(folder)) {
      const stat = await persist(client, signal, () => client.exists(folder, { signal }))
      if (stat !== undefined || folder === '/') return stat?.pzxid ?? 0n
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

interface Moment {
  /** The newest that this client has seen. */
  readonly zxid: bigint
  readonly session: bigint | undefined
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
