import {
  isRefusal,
  joinPath,
  nodeName,
  parentPath,
  retry,
  type CallOptions,
  type Client,
  type Codec,
} from '@zabra/client'
import { callNames, checkPath, pause } from '@zabra/client/internal'
import { LostError } from './holding/held.ts'
import { limited } from './waiting/limits.ts'
import { mayEnd } from './waiting/pause.ts'
import { Registration } from './holding/registration.ts'
import { below, checkName } from './nodes/parents.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface PersistentNodeOptions<T> extends CallOptions {
  readonly codec: Codec<T>
}

/**
 * An ephemeral node that exists as long as this program runs: it is created again in each session, and
 * when somebody deletes it. Its value can be updated. As Curator's PersistentNode.
 *
 *     await using node = await PersistentNode.open(client, '/status/host-17', 'up', { codec: text })
 *     await node.update('draining')
 */
export class PersistentNode<T> extends Registration<T> {
  private constructor(client: Client, path: string, codec: Codec<T>, value: T) {
    super(client, path, codec, value)
  }

  /**
   * Resolves when the node exists. Waits while another session has a node of this name.
   *
   *     await using node = await PersistentNode.open(client, '/status/host-17', 'up', { codec: text })
   */
  static async open<T>(
    { patient: client }: Client,
    path: string,
    value: T,
    options: PersistentNodeOptions<T>,
  ): Promise<PersistentNode<T>> {
    const codec = codecOption('PersistentNode', options, callNames)
    const { signal: own, timeoutMs } = options
    checkPath(path)
    checkName(nodeName(path), 'a node')
    return limited(client, { signal: own, timeoutMs }, async (signal) => {
      const node = new PersistentNode(client, path, codec, value)
      await node.registered(signal)
      return node
    })
  }
}

export interface PersistentTtlNodeOptions<T> extends PersistentNodeOptions<T> {
  /** How long the node survives this program. */
  readonly ttlMs: number
}

/** The name that Curator uses as well. */
const touchName = 'touch'
const touchesPerTtl = 3

/**
 * A node that survives its session, and is deleted some time after its program has ended: a
 * container with one child that has a TTL, and is touched again and again. Like Curator's
 * PersistentTtlNode. The servers must allow TTL nodes (`extendedTypesEnabled`), and delete expired
 * nodes once a minute by default.
 *
 *     await using node = await PersistentTtlNode.open(client, '/status/batch', 'running', {
 *       codec: text,
 *       ttlMs: 60_000,
 *     })
 */
export class PersistentTtlNode<T> implements AsyncDisposable {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>
  private readonly ttlMs: number
  private readonly ending = new AbortController()
  private value: T
  private keeping: Promise<void> = Promise.resolve()

  private constructor(
    client: Client,
    path: string,
    value: T,
    options: PersistentTtlNodeOptions<T>,
  ) {
    const codec = codecOption('PersistentTtlNode', options, { ttlMs: true, ...callNames })
    const { ttlMs } = options
    if (!Number.isSafeInteger(ttlMs) || ttlMs < 1)
      throw new RangeError(`ttlMs is a whole number of milliseconds from 1 on, not ${ttlMs}`)
    this.client = client.patient
    this.path = checkPath(path)
    this.codec = codec
    this.ttlMs = ttlMs
    this.value = value
  }

  /**
   * Resolves when the node exists.
   *
   *     const options = { codec: text, ttlMs: 60_000 }
   *     await using node = await PersistentTtlNode.open(client, '/status/batch', 'running', options)
   */
  static async open<T>(
    client: Client,
    path: string,
    value: T,
    options: PersistentTtlNodeOptions<T>,
  ): Promise<PersistentTtlNode<T>> {
    const node = new PersistentTtlNode(client, path, value, options)
    const { signal, timeoutMs } = options
    const subject = { path, what: 'not created' }
    const make = (either: AbortSignal) => node.write(either)
    await limited(node.client, { signal, timeoutMs }, make, true, subject)
    const stop = client.onClosing(() => node.end(new LostError('closed', path)))
    node.keeping = node.keep().catch((error: unknown) => {
      stop()
      node.end(error)
    })
    return node
  }

  /** Aborts when the node is no longer kept; the reason says why. */
  get signal(): AbortSignal {
    return this.ending.signal
  }

  /**
   * Changes the data of the node.
   *
   *     await batch.update('finishing')
   */
  update(value: T, options: CallOptions = {}): Promise<void> {
    this.value = value
    const { client, path } = this
    const set = (signal: AbortSignal) => this.write(signal)
    return limited(client, options, set, true, { path, what: 'not updated' })
  }

  /**
   * Stops keeping it: it is deleted when its time is over.
   *
   *     await batch.close() // or: await using batch = await PersistentTtlNode.open(...)
   */
  async close(): Promise<void> {
    this.end(new LostError('released', this.path))
    await this.keeping
  }

  /**
   * Stops keeping it, and deletes it.
   *
   *     await batch.delete()
   */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.close()
    await retry(this.client, (limits) => this.client.deleteTree(this.path, limits), options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private end(reason: unknown): void {
    if (!this.signal.aborted) this.ending.abort(reason)
  }

  private async keep(): Promise<void> {
    const { client, signal } = this
    for (;;) {
      await pause(client.host, this.ttlMs / touchesPerTtl, signal)
      try {
        await this.touch(signal)
      } catch (error) {
        // It comes back even if the server refuses for longer than the TTL.
        if (!mayEnd(error)) throw error
      }
    }
  }

  private write(signal: AbortSignal): Promise<void> {
    const { client, path } = this
    return retry(
      client,
      async () => {
        const data = this.codec.encode(this.value)
        const put = () => this.setOrCreate(path, data, { container: true })
        for (;;) {
          await below(client, parentPath(path), { signal }, put)
          try {
            await this.touchOnce()
            return
          } catch (error) {
            // Left by an earlier program, and deleted between the two writes.
            if (!isRefusal(error, 'noNode')) throw error
            signal.throwIfAborted()
          }
        }
      },
      { signal },
    )
  }

  /** If somebody has deleted it, it is created again. */
  private async touch(signal: AbortSignal): Promise<void> {
    try {
      await retry(this.client, () => this.touchOnce(), { signal })
    } catch (error) {
      if (!isRefusal(error, 'noNode')) throw error
      await this.write(signal)
    }
  }

  private touchOnce(): Promise<void> {
    const { ttlMs } = this
    return this.setOrCreate(joinPath(this.path, touchName), new Uint8Array(0), { ttlMs })
  }

  private async setOrCreate(
    path: string,
    data: Uint8Array,
    kind: { readonly container?: boolean; readonly ttlMs?: number },
  ): Promise<void> {
    for (;;) {
      try {
        await this.client.set(path, data)
        return
      } catch (error) {
        if (!isRefusal(error, 'noNode')) throw error
      }
      try {
        await this.client.create(path, data, kind)
        return
      } catch (error) {
        if (!isRefusal(error, 'nodeExists')) throw error
      }
    }
  }
}
