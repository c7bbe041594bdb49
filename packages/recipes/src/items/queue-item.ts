import {
  ConnectionLossError,
  isRefusal,
  TransactionError,
  type AnyTransaction,
  type CallOptions,
  type Client,
  type Codec,
  type Data,
  type Stat,
  type Transaction,
} from '@zabra/client'
import { HeldByNode, LostError, type Held, type LossPolicy } from '../holding/held.ts'
import { giveBackIn } from '../nodes/give-back.ts'
import { limited, orAborted } from '../waiting/limits.ts'
import { findOut } from '../nodes/node.ts'

/** An item and the nodes that mark it as taken, all but the first ephemeral. */
export interface Taking {
  /** The item. */
  readonly entry: string
  /** Marks the item as taken. */
  readonly taken: string
  /** Identifies the consumer: distinguishes it from the next one. */
  readonly holder: string
  /** A name that no other attempt uses: it exists only together with the others of this attempt. */
  readonly own: string
  /** The zxid that created the last three. */
  readonly stat: Stat
}

/** The version of the node under `taken`: kazoo leaves its own at 0. */
const takenVersion = 1

export interface CompleteOptions extends CallOptions {
  /**
   * Adds operations that happen together with the completion, or not at all: the result of the
   * work, for example.
   */
  readonly also?: ((transaction: Transaction<readonly unknown[]>) => unknown) | undefined
}

/**
 * An item that this consumer works on. `complete` removes it from the queue; `release`, or the end
 * of a block with `await using`, returns it if it was not completed.
 */
export class QueueItem<T> implements Held {
  readonly entryPath: string
  /** The raw data in the queue. */
  data: Uint8Array = new Uint8Array(0)
  private readonly client: Client
  private readonly taking: Taking
  private readonly codec: Codec<T>
  private entryCzxid = 0n
  private readonly right: HeldByNode
  private completing: Promise<void> | undefined
  private releasing: Promise<void> | undefined
  /** The reply to a `complete` was lost, or not awaited. */
  private isUncertain = false
  /** It was released, as far as anybody can tell: a later completion is somebody else's. */
  private mayBeGivenBack = false
  /** The nodes no longer exist. */
  private isGone = false

  constructor(client: Client, taking: Taking, codec: Codec<T>) {
    this.client = client.patient
    this.taking = taking
    this.codec = codec
    this.entryPath = taking.entry
    const { taken: path, own, stat } = taking
    const checks = [{ path: own }, { path, version: takenVersion }]
    const giveBack = (): Promise<void> => this.giveBack()
    this.right = new HeldByNode(client, { path, stat, checks, giveBack })
  }

  /** Throws if the codec cannot decode it. Such an item can still be completed. */
  get value(): T {
    return this.codec.decode(this.data)
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

  /**
   * Makes the transaction fail as a whole, with a LostError, unless the item is still this consumer's.
   *
   *     await job.guard(client.transaction().set('/report', 'done')).commit()
   */
  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
    return this.right.guard(transaction)
  }

  /**
   * Removes the item from the queue, because the work is done. Rejects with a LostError if somebody
   * else may have got it in the meantime; then it is theirs. It may be called again after giving up
   * waiting.
   *
   *     await job.complete({ also: (transaction) => transaction.create('/results/17', 'done') })
   */
  complete({ also, ...limits }: CompleteOptions = {}): Promise<void> {
    const attempt = (signal: AbortSignal): Promise<void> => {
      const takeOut = (): Promise<void> => this.takeOut(also, signal)
      // An earlier caller that gave up does not speak for the current one.
      this.completing = this.completing?.catch(takeOut) ?? takeOut()
      return orAborted(this.completing, signal)
    }
    const subject = { path: this.entryPath, what: 'not completed' }
    return limited(this.client, limits, attempt, true, subject)
  }

  /**
   * Gives the item back. Calling it again, or after `complete`, does nothing.
   *
   *     await job.release() // another consumer gets it
   */
  release(): Promise<void> {
    this.releasing ??= this.right.release()
    return this.releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  /** Hands it to its consumer, which has chosen when it counts as lost. */
  filled({ data, stat }: Data, lostOn: LossPolicy): this {
    this.data = data
    this.entryCzxid = stat.czxid
    this.right.judgeBy(lostOn)
    return this
  }

  private async takeOut(also: CompleteOptions['also'], signal: AbortSignal): Promise<void> {
    const { entry, taken, holder, own } = this.taking
    for (;;) {
      signal.throwIfAborted()
      if (this.releasing !== undefined) await this.assertNotGivenBack(this.releasing, signal)
      this.assertHeld()
      const sending = watchSending(this.client)
      try {
        // First: if it has happened before, these are refused.
        const nodes = this.client
          .transaction()
          .delete(own)
          .delete(holder)
          .delete(taken, { ifVersion: takenVersion })
          .delete(entry)
        const all = nodes as unknown as Transaction<readonly unknown[]>
        also?.(all)
        await all.commit({ signal })
        this.isGone = true
        break
      } catch (error) {
        // A sent request continues even if the caller stops waiting.
        if (signal.aborted && error === signal.reason) this.isUncertain ||= sending.mayHaveLeft()
        if (error instanceof ConnectionLossError) this.isUncertain ||= error.mayHaveHappened
        else if (!(error instanceof TransactionError) || error.index > 3) throw error
        else if (error.path === own && this.isUncertain && !(await this.isInQueue(signal))) {
          this.isGone = true
          break
        } else if (error.path === entry && also === undefined) break
        else throw new LostError('deleted', taken)
      } finally {
        sending.stop()
      }
    }
    await this.release()
  }

  /** A completion requested before the release may have succeeded, too. */
  private async assertNotGivenBack(releasing: Promise<void>, signal: AbortSignal): Promise<void> {
    const settled = releasing.catch(() => {})
    if (this.isUncertain) await orAborted(settled, signal)
    if (!this.isUncertain || this.mayBeGivenBack) throw new LostError('released', this.taking.taken)
  }

  /** A suspended session is no reason not to try: the transaction decides. */
  private assertHeld(): void {
    const { taken, stat } = this.taking
    const reason = this.signal.reason as LostError | undefined
    // A completion deletes it as well; of a release we know already.
    const isOwnDoing =
      this.isUncertain && (reason?.reason === 'deleted' || reason?.reason === 'released')
    if (reason instanceof LostError && reason.reason !== 'suspended' && !isOwnDoing) throw reason
    if (this.client.session?.id !== stat.ephemeralOwner) throw new LostError('expired', taken)
  }

  /** While it exists, nobody has completed the item. */
  private async isInQueue(signal: AbortSignal): Promise<boolean> {
    const { client, taking, entryCzxid } = this
    const look = () => client.exists(taking.entry, { signal, consistency: 'session' })
    return (await findOut(client, signal, look))?.czxid === entryCzxid
  }

  private async giveBack(): Promise<void> {
    if (this.isGone) return
    const { taken, holder, own, stat } = this.taking
    let others = [{ path: holder }, { path: taken, ifVersion: takenVersion }]
    await giveBackIn(this.client, stat.ephemeralOwner, async () => {
      for (;;) {
        const transaction = this.client.transaction().delete(own)
        for (const { path, ...options } of others) transaction.delete(path, options)
        try {
          await transaction.commit()
          this.mayBeGivenBack = true
          return
        } catch (error) {
          if (error instanceof ConnectionLossError) this.mayBeGivenBack ||= error.mayHaveHappened
          if (!isRefusal(error, 'noNode', 'badVersion')) throw error
          // It was released, or belongs to somebody else: nothing else is ours any more either.
          if (error.path === own) return
          others = others.filter(({ path }) => path !== error.path)
        }
      }
    })
  }
}

/** Whether requests from now on can be sent: not without a connection. */
function watchSending(client: Client) {
  let wasConnected = client.state.name === 'connected'
  const stop = client.onState(({ name }) => {
    if (name === 'connected') wasConnected = true
  })
  return { mayHaveLeft: () => wasConnected, stop }
}
