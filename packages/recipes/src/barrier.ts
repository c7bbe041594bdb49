import { isRefusal, type Acl, type CallOptions, type Client } from '@zabra/client'
import { untilGone } from './bells.ts'
import { persist } from './node.ts'
import { limited } from './limits.ts'
import { below, parentOf } from './parents.ts'

/**
 * A node that holds everybody up as long as it is there. The layout is that of Curator's
 * DistributedBarrier.
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
    this.client = client.patient
    this.path = path
    this.acl = options.acl
  }

  /** Puts it up; quiet where it is up already. */
  async raise(options: CallOptions = {}): Promise<void> {
    const { client, path, acl } = this
    const create = () => client.create(path, '', { ...options, acl })
    await persist(client, options.signal, async () => {
      try {
        await below(client, parentOf(path), { ...options, acl }, create)
      } catch (error) {
        if (!isRefusal(error, 'nodeExists')) throw error
      }
    })
  }

  /** Lets everybody pass; quiet where it is down already. */
  async lower(options: CallOptions = {}): Promise<void> {
    await persist(this.client, options.signal, async () => {
      try {
        await this.client.delete(this.path, options)
      } catch (error) {
        if (!isRefusal(error, 'noNode')) throw error
      }
    })
  }

  async isUp(options: CallOptions = {}): Promise<boolean> {
    return (await this.client.exists(this.path, options)) !== undefined
  }

  /**
   * Waits until it is down. Nothing is lost with a connection or a session: the waiter looks again
   * over the next one.
   */
  wait(options: CallOptions = {}): Promise<void> {
    const { client, path } = this
    return limited(client, options, (signal) =>
      persist(client, signal, () => untilGone(client, path, signal)),
    )
  }
}
