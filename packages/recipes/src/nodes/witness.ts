import {
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  type Client,
  type Stat,
  type Transaction,
} from '@zabra/client'
import { findOut } from './node.ts'
import { SessionNode, type OwnNode } from './session-node.ts'

/** A transaction that happened; with its results, unless the reply was lost. */
export interface Happened<Results> {
  readonly results: Results | undefined
}

/**
 * Finds out whether a transaction happened, even if its reply was lost. Each transaction also
 * changes an ephemeral node of this client, whose version then tells. The old version is a
 * condition of it, so a transaction and its repetition never both happen.
 *
 * One transaction at a time.
 */
export class Witness {
  private readonly client: Client
  private readonly own: SessionNode
  private node: OwnNode | undefined
  private version = 0

  /** A missing parent is created as a container, unless the caller does so. */
  constructor(client: Client, parent: string, makeParent?: () => Promise<void>) {
    this.client = client.patient
    this.own = new SessionNode(client, parent, 'witness', makeParent)
  }

  /**
   * Rejects if it is refused, and if the session ends or the signal aborts; whether it happened is
   * then known only if the error says so.
   */
  async commit<Results extends readonly unknown[]>(
    prepare: (transaction: Transaction) => Transaction<Results>,
    signal?: AbortSignal,
  ): Promise<Happened<Results>> {
    const attempt = { isUncertain: false }
    try {
      return await this.attempt(prepare, signal, attempt)
    } catch (error) {
      // Otherwise its late effect could be taken for the next transaction's.
      if (attempt.isUncertain && this.node !== undefined) this.own.forget(this.node)
      throw error
    }
  }

  private async attempt<Results extends readonly unknown[]>(
    prepare: (transaction: Transaction) => Transaction<Results>,
    signal: AbortSignal | undefined,
    attempt: { isUncertain: boolean },
  ): Promise<Happened<Results>> {
    for (;;) {
      signal?.throwIfAborted()
      const node = await this.present(signal)
      let refusal: unknown
      try {
        const transaction = prepare(this.client.transaction())
        const all = await transaction
          .set(node.path, '', { ifVersion: this.version })
          .commit({ signal })
        this.version++
        return { results: all.slice(0, -1) as unknown as Results }
      } catch (error) {
        if (error instanceof ConnectionLossError) attempt.isUncertain ||= error.mayHaveHappened
        else if (isRefusal(error) && attempt.isUncertain) refusal = error
        else if (this.mayTryAnew(error, node, attempt.isUncertain)) {
          this.own.forget(node)
          continue
        } else {
          if (!isRefusal(error)) this.own.forget(node)
          throw error
        }
      }
      if (!attempt.isUncertain) continue
      const stat = await this.look(node, signal)
      // In another session nothing prevents a pending request from happening later.
      if (stat === undefined || this.client.session?.id !== node.session)
        throw new SessionExpiredError(true, { path: node.path })
      if (stat.version > this.version) {
        this.version = stat.version
        return { results: undefined }
      }
      if (refusal !== undefined) throw refusal
    }
  }

  /** Deletes the node; the next transaction creates another one. */
  close(): Promise<void> {
    return this.own.close()
  }

  private mayTryAnew(error: unknown, node: OwnNode, isUncertain: boolean): boolean {
    if (isUncertain) return false
    // Somebody has changed the witness itself.
    if (isRefusal(error) && error.path === node.path) return true
    return error instanceof SessionExpiredError && !error.mayHaveHappened && this.isGoingOn
  }

  private get isGoingOn(): boolean {
    return this.client.state.name !== 'closed'
  }

  private async present(signal: AbortSignal | undefined): Promise<OwnNode> {
    const node = await this.own.present(signal)
    if (node !== this.node) this.version = 0
    return (this.node = node)
  }

  private look(node: OwnNode, signal: AbortSignal | undefined): Promise<Stat | undefined> {
    return findOut(this.client, signal, () =>
      this.client.exists(node.path, { signal, consistency: 'session' }),
    )
  }
}
