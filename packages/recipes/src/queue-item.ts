import {
  ConnectionLossError,
  TransactionError,
  type CallOptions,
  type Client,
  type Codec,
  type Stat,
  type Transaction,
} from '@zabra/client'
import { deleteOwn, HeldByNode, LostError, type Held, type LossPolicy } from './held.ts'
import { limited, orAborted } from './limits.ts'
import type { OwnNode } from './session-node.ts'

interface Claim<T> {
  /** The item. */
  readonly entry: string
  /** That somebody works on it. */
  readonly taken: string
  readonly stat: Stat
  /** There as long as the session that took it. */
  readonly consumer: OwnNode
  readonly codec: Codec<T>
  /** It is completed, or given back. */
  readonly onOver: () => Promise<void>
}

export interface CompleteOptions extends CallOptions {
  /** What shall happen in the same step, or not at all: the result of the work, for example. */
  readonly also?:
    | ((transaction: Transaction<readonly unknown[]>) => Transaction<readonly unknown[]>)
    | undefined
}

/**
 * An item that this consumer works on. `complete` takes it out of the queue; `release`, or the end
 * of a block with `await using`, gives it back if it was not completed.
 */
export class QueueItem<T> implements Held {
  readonly entryPath: string
  /** As it lies in the queue. */
  data: Uint8Array = new Uint8Array(0)
  private readonly client: Client
  private readonly claim: Claim<T>
  private readonly right: HeldByNode
  private completing: Promise<void> | undefined
  /** A reply to `complete` was lost, or not waited for. */
  private isUncertain = false
  /** The nodes are not there any more. */
  private isGone = false

  constructor(client: Client, claim: Claim<T>) {
    this.client = client.patient
    this.claim = claim
    this.entryPath = claim.entry
    const { taken: path, stat, consumer } = claim
    const checks = [{ path: consumer.path }, { path }]
    const giveBack = (): Promise<void> => this.giveBack()
    this.right = new HeldByNode(client, { path, stat, checks, giveBack })
  }

  /** Throws where the codec does not understand it. Such an item can still be completed. */
  get value(): T {
    return this.claim.codec.decode(this.data)
  }

  get path(): string {
    return this.right.path
  }

  get token(): bigint {
    return this.right.token
  }

  get signal(): AbortSignal {
    return this.right.signal
  }

  get deadlineMs(): number {
    return this.right.deadlineMs
  }

  guard<Results extends readonly unknown[]>(
    transaction: Transaction<Results>,
  ): Transaction<[...Results, ...undefined[]]> {
    return this.right.guard(transaction)
  }

  /**
   * The work is done: takes the item out of the queue. Rejects with a LostError where somebody
   * else may have been given it meanwhile; then it is theirs. Whoever gives up waiting may ask again.
   */
  complete({ also, ...limits }: CompleteOptions = {}): Promise<void> {
    const attempt = (signal: AbortSignal): Promise<void> => {
      const takeOut = (): Promise<void> => this.takeOut(also, signal)
      // Whoever asked before and gave up does not speak for whoever asks now.
      this.completing = this.completing?.catch(takeOut) ?? takeOut()
      return orAborted(this.completing, signal)
    }
    return limited(this.client, limits, attempt, true)
  }

  release(): Promise<void> {
    return this.right.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  /** Hands it to its consumer, who has chosen when it counts as lost. */
  filled(data: Uint8Array, lostOn: LossPolicy): this {
    this.data = data
    this.right.judgeBy(lostOn)
    return this
  }

  private async takeOut(also: CompleteOptions['also'], signal: AbortSignal): Promise<void> {
    const { entry, taken, consumer } = this.claim
    for (;;) {
      signal.throwIfAborted()
      this.assertHeld()
      try {
        // These first: where it has happened before, they are what is refused.
        const own = this.client.transaction().check(consumer.path).delete(taken).delete(entry)
        const all = own as unknown as Transaction<readonly unknown[]>
        await (also === undefined ? all : also(all)).commit({ signal })
        this.isGone = true
        break
      } catch (error) {
        // What was sent goes on without whoever gives up waiting.
        if (signal.aborted && error === signal.reason) this.isUncertain = true
        if (error instanceof ConnectionLossError) this.isUncertain ||= error.mayHaveHappened
        else if (!(error instanceof TransactionError) || error.index > 2) throw error
        else if (error.path === taken && this.isUncertain) {
          this.isGone = true
          break
        } else if (error.path === entry && also === undefined) break
        else throw new LostError(error.index > 0 ? 'deleted' : 'expired', taken)
      }
    }
    await this.release()
  }

  /** Being suspended is no reason not to try: the transaction tells. */
  private assertHeld(): void {
    const { consumer, taken } = this.claim
    const reason = this.signal.reason as LostError | undefined
    // It is deleted by what is being asked for here, too.
    const isOwnDoing = this.isUncertain && reason?.reason === 'deleted'
    if (reason instanceof LostError && reason.reason !== 'suspended' && !isOwnDoing) throw reason
    if (this.client.session?.id !== consumer.session) throw new LostError('expired', taken)
  }

  private async giveBack(): Promise<void> {
    const { reason } = this.signal
    // What somebody has deleted may be somebody else's by now.
    const isLost = reason instanceof LostError && reason.reason === 'deleted'
    if (!this.isGone && !isLost)
      await deleteOwn(this.client, this.claim.taken, this.claim.consumer.session)
    await this.claim.onOver()
  }
}
