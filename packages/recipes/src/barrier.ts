import { isRefusal, parentPath, type Acl, type CallOptions, type Client } from '@zabra/client'
import { checkOptionNames, checkPath } from '@zabra/client/internal'
import { untilGone } from './waiting/until-changed.ts'
import { persist } from './nodes/node.ts'
import { limited } from './waiting/limits.ts'
import { below } from './nodes/parents.ts'

/**
 * A node that blocks all waiters while it exists. The layout is that of Curator's
 * DistributedBarrier.
 *
 *     const barrier = new Barrier(client, '/maintenance')
 *     await barrier.raise()
 *     await barrier.wait({ timeoutMs: 60_000 }) // in other programs, until somebody lowers it
 */
export class Barrier {
  private readonly client: Client
  private readonly path: string
  private readonly acl: readonly Acl[] | undefined

  constructor(
    client: Client,
    path: string,
    options: { readonly acl?: readonly Acl[] | undefined } = {},
  ) {
    checkOptionNames('Barrier', options, { acl: true })
    this.client = client.patient
    this.path = checkPath(path)
    this.acl = options.acl
  }

  /**
   * Sets the barrier; succeeds if it is set already.
   *
   *     await barrier.raise()
   */
  raise(options: CallOptions = {}): Promise<void> {
    const { client, path, acl } = this
    const make = (signal: AbortSignal): Promise<void> =>
      persist(client, signal, async () => {
        const create = () => client.create(path, '', { signal, acl })
        try {
          await below(client, parentPath(path), { signal, acl }, create)
        } catch (error) {
          if (!isRefusal(error, 'nodeExists')) throw error
        }
      })
    return limited(client, options, make, true, { path, what: 'not raised' })
  }

  /**
   * Removes the barrier, so that everybody passes; succeeds if it is removed already.
   *
   *     await barrier.lower()
   */
  lower(options: CallOptions = {}): Promise<void> {
    const { client, path } = this
    const remove = (signal: AbortSignal): Promise<void> =>
      persist(client, signal, async () => {
        try {
          await client.delete(path, { signal })
        } catch (error) {
          if (!isRefusal(error, 'noNode')) throw error
        }
      })
    return limited(client, options, remove, true, { path, what: 'not lowered' })
  }

  /**
   * Whether it is set, as far as this client's server knows.
   *
   *     if (await barrier.isUp()) console.log('down for maintenance')
   */
  async isUp(options: CallOptions = {}): Promise<boolean> {
    return (await this.client.exists(this.path, options)) !== undefined
  }

  /**
   * Waits until it is removed. It survives lost connections and sessions: the waiter checks again
   * over the next one.
   *
   *     await barrier.wait({ timeoutMs: 60_000 })
   */
  wait(options: CallOptions = {}): Promise<void> {
    const { client, path } = this
    const look = (signal: AbortSignal): Promise<void> =>
      persist(client, signal, () => untilGone(client, path, signal))
    return limited(client, options, look, false, { path, what: 'not lowered' })
  }
}
