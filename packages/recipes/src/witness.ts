import {
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  type Client,
  type Stat,
  type Transaction,
} from '@zabra/client'
import { deleteOwn } from './held.ts'
import { persist } from './node.ts'
import { below, join } from './parents.ts'

interface WitnessNode {
  readonly path: string
  readonly session: bigint
  version: number
}

/** That a transaction happened; its results, unless the reply was lost. */
export interface Happened<Results> {
  readonly results: Results | undefined
}

/**
 * Lets one know whether a transaction happened, also where its reply was lost. Each transaction
 * changes an ephemeral node of this client's own as well, whose version then tells. The old version
 * is a condition of it, so that of a transaction and its repetition never both happen.
 *
 * One transaction at a time.
 */
export class Witness {
  private readonly client: Client
  private readonly parent: string
  private readonly makeParent: (() => Promise<void>) | undefined
  private node: WitnessNode | undefined

  /** The parent is made as a container where it is missing, unless the caller knows better. */
  constructor(client: Client, parent: string, makeParent?: () => Promise<void>) {
    this.client = client
    this.parent = parent
    this.makeParent = makeParent
  }

  /** The node, which is there exactly as long as the session in which it was made. */
  async path(signal?: AbortSignal): Promise<string> {
    const { path } = await this.present(signal)
    return path
  }

  /**
   * Rejects where it is refused, and where the session ends or the signal aborts; what happened
   * then is known only where the error says so.
   */
  async commit<Results extends readonly unknown[]>(
    prepare: (transaction: Transaction) => Transaction<Results>,
    signal?: AbortSignal,
  ): Promise<Happened<Results>> {
    let isUncertain = false
    for (;;) {
      signal?.throwIfAborted()
      const node = await this.present(signal)
      let refusal: unknown
      try {
        const transaction = prepare(this.client.transaction())
        const all = await transaction
          .set(node.path, '', { ifVersion: node.version })
          .commit({ signal })
        node.version++
        return { results: all.slice(0, -1) as unknown as Results }
      } catch (error) {
        if (error instanceof ConnectionLossError) isUncertain ||= error.mayHaveHappened
        else if (isRefusal(error) && isUncertain) refusal = error
        else if (this.mayTryAnew(error, node, isUncertain)) {
          this.forget(node)
          continue
        } else {
          if (!isRefusal(error)) this.forget(node)
          throw error
        }
      }
      if (!isUncertain) continue
      const stat = await this.look(node, signal)
      if (stat === undefined) {
        this.node = undefined
        throw new SessionExpiredError(true, { path: node.path })
      }
      if (stat.version > node.version) {
        node.version = stat.version
        return { results: undefined }
      }
      if (refusal !== undefined) {
        this.forget(node)
        throw refusal
      }
    }
  }

  /** Takes the node away; the next transaction makes another one. */
  async close(): Promise<void> {
    const { node } = this
    this.node = undefined
    if (node !== undefined) await deleteOwn(this.client, node.path, node.session)
  }

  private mayTryAnew(error: unknown, node: WitnessNode, isUncertain: boolean): boolean {
    if (isUncertain) return false
    // Somebody has touched the witness itself.
    if (isRefusal(error) && error.path === node.path) return true
    return error instanceof SessionExpiredError && !error.mayHaveHappened && this.isGoingOn
  }

  private get isGoingOn(): boolean {
    return this.client.state.name !== 'closed'
  }

  private async present(signal: AbortSignal | undefined): Promise<WitnessNode> {
    const { client, parent, node } = this
    if (node !== undefined && node.session === client.session?.id) return node
    const options = { ephemeral: true, protect: true, signal }
    const create = () => client.create(join(parent, 'witness'), '', options)
    const { path, stat } = await persist(client, signal, () => this.belowParent(create, signal))
    return (this.node = { path, session: stat.ephemeralOwner, version: 0 })
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

  private look(node: WitnessNode, signal: AbortSignal | undefined): Promise<Stat | undefined> {
    return persist(this.client, signal, () =>
      this.client.exists(node.path, { signal, consistency: 'session' }),
    )
  }

  /** What is still on its way with this witness must not happen any more. */
  private forget(node: WitnessNode): void {
    if (this.node === node) this.node = undefined
    deleteOwn(this.client, node.path, node.session).catch(() => {})
  }
}
