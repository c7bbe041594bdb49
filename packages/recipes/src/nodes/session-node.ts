import { isRefusal, joinPath, type Client } from '@zabra/client'
import { deleteOwn } from './give-back.ts'
import { persist } from './node.ts'
import { below } from './parents.ts'

export interface OwnNode {
  readonly path: string
  readonly session: bigint
}

/** An ephemeral node with a unique name: it exists only as long as the session that created it. */
export class SessionNode {
  private readonly client: Client
  private readonly parent: string
  private readonly name: string
  private readonly makeParent: (() => Promise<void>) | undefined
  private node: Promise<OwnNode> | undefined
  private made: OwnNode | undefined

  /** A missing parent is created as a container, unless the caller does so. */
  constructor(client: Client, parent: string, name: string, makeParent?: () => Promise<void>) {
    this.client = client.patient
    this.parent = parent
    this.name = name
    this.makeParent = makeParent
  }

  /** The node of the current session, created if there is none yet. */
  async present(signal?: AbortSignal): Promise<OwnNode> {
    const { made } = this
    if (made !== undefined && made.session === this.client.session?.id) return made
    this.node ??= this.make(signal).finally(() => (this.node = undefined))
    return (this.made = await this.node)
  }

  /** Deletes the node, so that pending requests that depend on it fail. */
  forget(node: OwnNode): void {
    if (this.made === node) this.made = undefined
    deleteOwn(this.client, node.path, node.session).catch(() => {})
  }

  async close(): Promise<void> {
    const { made } = this
    this.made = undefined
    if (made !== undefined) await deleteOwn(this.client, made.path, made.session)
  }

  private async make(signal: AbortSignal | undefined): Promise<OwnNode> {
    const { client, parent, name } = this
    const options = { ephemeral: true, protect: true, signal }
    const create = () => client.create(joinPath(parent, name), '', options)
    const { path, stat } = await persist(client, signal, () => this.belowParent(create, signal))
    return { path, session: stat.ephemeralOwner }
  }

  private async belowParent<T>(
    create: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    if (this.makeParent === undefined) return below(this.client, this.parent, { signal }, create)
    for (;;) {
      try {
        return await create()
      } catch (error) {
        if (!isRefusal(error, 'noNode')) throw error
      }
      await this.makeParent()
    }
  }
}
