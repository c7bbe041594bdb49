import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  OperationError,
  parentPath,
  SessionExpiredError,
  type CallOptions,
  type Client,
  type Codec,
  type Data,
  type ReadOptions,
} from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { limited, underAll } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode, type LiveOptions } from './live/live-node.ts'
import { findOut, persist } from './nodes/node.ts'
import { below } from './nodes/parents.ts'
import type { Problem } from './live/problem.ts'
import { Registration } from './holding/registration.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface NameServiceOptions<T> {
  readonly codec: Codec<T>
}

/**
 * Names with values: addresses, ids, or whatever the codec encodes. A name may have parts,
 * separated by slashes. All parts but the last are folders: nodes without data, which have no
 * value.
 *
 *     const names = new NameService(client, '/names', { codec: json<{ host: string }>() })
 *     await names.bind('databases/orders', { host: 'db-1' })
 *     console.log(await names.lookup('databases/orders'))
 */
export class NameService<T> {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>

  constructor(client: Client, path: string, options: NameServiceOptions<T>) {
    this.client = client.patient
    this.path = checkPath(path)
    this.codec = codecOption('NameService', options)
  }

  /**
   * Binds a name to a value; resolves to false if it is bound to something else already. Rejects
   * with `notEmpty` if it is a folder with names in it.
   *
   *     if (!(await names.bind('orders', { host: 'db-1' }))) console.log('it is another one already')
   */
  async bind(name: string, value: T, options: CallOptions = {}): Promise<boolean> {
    const at = joinPath(this.path, name)
    const data = this.encode(value)
    const bind = async (signal: AbortSignal): Promise<boolean> =>
      (await this.create(at, data, signal)).isBound
    return limited(this.client, options, bind, true)
  }

  /**
   * Binds a name to a value, whatever it was bound to before. If the reply is lost and somebody
   * else has changed the name since, it rejects with `mayHaveHappened`; with `notEmpty` if the name
   * is a folder with names in it.
   *
   *     await names.rebind('orders', { host: 'db-2' })
   */
  async rebind(name: string, value: T, options: CallOptions = {}): Promise<void> {
    const at = joinPath(this.path, name)
    const data = this.encode(value)
    await limited(this.client, options, (signal) => this.setOrBind(at, data, signal), true)
  }

  /**
   * Resolves to whether the name was bound. If the reply is lost and somebody else has bound the
   * name since, it rejects with `mayHaveHappened`.
   *
   *     const wasBound = await names.unbind('orders')
   */
  unbind(name: string, options: CallOptions = {}): Promise<boolean> {
    const at = joinPath(this.path, name)
    return limited(this.client, options, (signal) => this.remove(at, signal), true)
  }

  /**
   * Holds a name for as long as this program lives, in one session after the other. Waits while
   * somebody else holds it.
   *
   *     await using name = await names.register('reports', { host: 'db-3' })
   */
  register(name: string, value: T, options: CallOptions = {}): Promise<Registration<T>> {
    return limited(this.client, options, async (signal) => {
      const at = joinPath(this.path, name)
      const codec = { ...this.codec, encode: (one: T) => this.encode(one) }
      const registration = new Registration(this.client, at, codec, value)
      await registration.registered(signal)
      return registration
    })
  }

  /**
   * The value of the name; undefined if it is not bound.
   *
   *     const found = await names.lookup('orders')
   *     console.log(found?.host ?? 'not bound')
   */
  async lookup(name: string, options: ReadOptions = {}): Promise<T | undefined> {
    const found = await this.client.find(joinPath(this.path, name), options)
    return found && this.meaning(found.data)
  }

  /**
   * Waits until the name is bound; rejects if its value cannot be decoded.
   *
   *     const { host } = await names.resolve('orders', { timeoutMs: 5000 })
   */
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

  /**
   * The value of the name, kept up to date until it is closed.
   *
   *     await using orders = await names.live('orders')
   *     orders.onChange((now) => console.log(now?.host))
   */
  live(name: string, options: LiveOptions = {}): Promise<Live<T | undefined>> {
    return openLiveNode<T | undefined>(
      this.client,
      joinPath(this.path, name),
      (node) => ({ value: node === undefined ? undefined : this.meaning(node.data) }),
      options,
    )
  }

  /**
   * The names and folders in a folder, sorted; by default those at the top.
   *
   *     console.log(await names.list('databases'))
   */
  async list(folder = '', options: ReadOptions = {}): Promise<string[]> {
    try {
      const at = folder === '' ? this.path : joinPath(this.path, folder)
      return (await this.client.children(at, options)).toSorted()
    } catch (error) {
      if (isRefusal(error, 'noNode')) return []
      throw error
    }
  }

  private async setOrBind(at: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    const { client } = this
    for (;;) {
      const there = await this.find(at, signal)
      if (there === undefined || isFolder(there)) {
        const { isBound, loss } = await this.create(at, data, signal)
        if (isBound) return
        if (loss !== undefined) throw loss
        continue
      }
      const before = await this.moment(signal)
      try {
        // A folder may have replaced it, and its data would be lost.
        await client.set(at, data, { ifVersion: there.stat.version, signal })
        return
      } catch (error) {
        if (isRefusal(error, 'noNode', 'badVersion')) continue
        if (await this.mayHaveHappened(error, signal)) {
          const found = await this.lookSince(before, at, signal)
          if (found !== undefined && isEqual(found.data, data)) return
          const changedAt = found?.stat.mzxid ?? (await this.folderChangedAt(at, signal))
          // By this call, and then by somebody else; or by somebody else alone.
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
          // It was bound after this call unbound it; or before, and not seen yet.
          if (found.stat.czxid > before.zxid) throw error
        }
      }
    }
  }

  /**
   * If the current state does not tell whether this call succeeded for a while, the error is passed
   * on.
   */
  private async create(
    at: string,
    data: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ readonly isBound: boolean; readonly loss?: ConnectionLossError | undefined }> {
    const { client } = this
    const create = () => client.create(at, data, { signal })
    let loss: ConnectionLossError | undefined
    let folder: Data | undefined
    for (;;) {
      try {
        if (folder === undefined) await below(client, parentPath(at), { signal }, create)
        else await this.replace(at, folder, data, signal)
        return { isBound: true }
      } catch (error) {
        if (error instanceof ConnectionLossError) {
          loss = error.mayHaveHappened ? error : loss
          // Only an error comes from a server that has seen the lost request.
          folder = undefined
          continue
        }
        const isOutdated = isRefusal(error, 'noNode', 'notEmpty', 'badVersion')
        if (!isRefusal(error, 'nodeExists') && !(isOutdated && folder !== undefined)) throw error
      }
      const there = await this.find(at, signal)
      folder = there !== undefined && isFolder(there) ? there : undefined
      if ((folder?.stat.numChildren ?? 0) > 0) {
        const problem = `${at} is a folder with names in it, and cannot have a value`
        throw new OperationError('notEmpty', { path: at }, problem)
      }
      if (there === undefined || folder !== undefined) continue
      // It may be ours, by a request whose reply was lost.
      if (loss === undefined) return { isBound: false }
      return isEqual(there.data, data) ? { isBound: true } : { isBound: false, loss }
    }
  }

  /** A folder is a container, and would be deleted some time, with its value. */
  private async replace(
    at: string,
    { stat: { version } }: Data,
    data: Uint8Array,
    signal: AbortSignal,
  ): Promise<void> {
    const transaction = this.client
      .transaction()
      .delete(at, { ifVersion: version })
      .create(at, data)
    // Another call that replaces the same folder must not find its version.
    if (version === 0) transaction.set(at, data)
    await transaction.commit({ signal })
  }

  private find(at: string, signal: AbortSignal): Promise<Data | undefined> {
    const { client } = this
    return persist(client, signal, () => client.find(at, { signal }))
  }

  // --- lost replies ------------------------------------------------------------------------------

  /** The known state when a request is sent, once there is a session for it. */
  private async moment(signal: AbortSignal): Promise<Moment> {
    await this.client.connected({ signal })
    const { lastZxid, session } = this.client
    return { zxid: lastZxid, session: session?.id }
  }

  /**
   * Whether to look for the outcome; throws errors that are no lost reply, or cannot be resolved.
   */
  private async mayHaveHappened(error: unknown, signal: AbortSignal): Promise<boolean> {
    if (error instanceof ConnectionLossError) return error.mayHaveHappened
    if (!(error instanceof SessionExpiredError) || error.mayHaveHappened) throw error
    await this.client.connected({ signal })
    return false
  }

  /** The node, once the outcome of all sent requests is decided. */
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
    // In another session nothing prevents a pending request from happening later.
    if (client.session?.id !== before.session) throw new SessionExpiredError(true, { path: at })
    return found ?? undefined
  }

  /** When a missing node's siblings were last created or deleted. */
  private async folderChangedAt(at: string, signal: AbortSignal): Promise<bigint> {
    const { client } = this
    for (let folder = parentPath(at); ; folder = parentPath(folder)) {
      const stat = await persist(client, signal, () => client.exists(folder, { signal }))
      if (stat !== undefined || folder === '/') return stat?.pzxid ?? 0n
    }
  }

  private encode(value: T): Uint8Array {
    const data = this.codec.encode(value)
    if (data.length === 0) throw new TypeError('the value of a name must not be empty')
    return data
  }

  private meaning(data: Uint8Array): T | undefined {
    return data.length === 0 ? undefined : this.codec.decode(data)
  }
}

interface Moment {
  /** The newest zxid that this client has seen. */
  readonly zxid: bigint
  readonly session: bigint | undefined
}

/** A node without data has no value; one that somebody holds is no folder. */
function isFolder({ data, stat }: Data): boolean {
  return data.length === 0 && stat.ephemeralOwner === 0n
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
