import {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  ZabraError,
  type AnyTransaction,
  type Client,
  type Stat,
  type State,
  type TransactionError,
  type WatchEvent,
} from '@zabra/client'
import { markErrorKind, pause } from '@zabra/client/internal'
import { deleteMade } from '../nodes/give-back.ts'
import { refusedPauseMs } from '../waiting/pause.ts'

/** A right until it is released or lost: a lock, a permit, a leadership. */
export interface Held extends AsyncDisposable {
  /**
   * A fencing token: it grows from one holder to the next, so a resource that has seen a larger one
   * refuses a smaller one.
   */
  readonly token: bigint
  /** Aborts the moment the right may be lost, or is released; the reason is a LostError. */
  readonly signal: AbortSignal
  /**
   * By `client.nowMs()`: the session's server cannot have expired it before this time, whatever
   * happened since. Every answer of the server moves it; 0 once the signal aborted.
   */
  readonly deadlineMs: number
  /** The path of the node that gives the right. */
  readonly path: string
  /**
   * Makes the transaction fail as a whole, with a LostError, unless the right is held when it
   * executes. Adds no results.
   *
   *     const [changed] = await held.guard(client.transaction().set('/stock', '41')).commit()
   */
  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded
  /**
   * Releases it. Calling it again does nothing.
   *
   *     await held.release() // or: await using held = await lock.acquire()
   */
  release(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * When a right counts as lost. `suspended`: as soon as there is no connection, because nobody can
 * tell from then on. `expired`: when the session has expired by the client's own clock. That is
 * earlier than on the server as long as both clocks run equally fast, and no follower answers that
 * has lost its leader without knowing it yet.
 */
export type LossPolicy = 'suspended' | 'expired'

export interface HoldOptions {
  /** `suspended` by default. */
  readonly lostOn?: LossPolicy | undefined
}

export type LossReason = 'suspended' | 'expired' | 'closed' | 'deleted' | 'released'

const sentences: Record<LossReason, string> = {
  suspended: 'the connection is lost, and the session may be over',
  expired: 'the session has expired',
  closed: 'the client is closed',
  deleted: 'somebody has deleted the node',
  released: 'it was released',
}

/**
 * Something is no longer held, or may no longer be.
 *
 *     if (error instanceof LostError) console.log(`${error.path} is lost: ${error.reason}`)
 */
export class LostError extends ZabraError {
  static {
    markErrorKind(this, 'LostError')
  }
  override readonly name = 'LostError'
  readonly code = 'lost'
  readonly retriable = false
  readonly reason: LossReason

  constructor(reason: LossReason, path: string, cause?: unknown) {
    super(`no longer held, ${sentences[reason]}: ${path}`, { path, cause })
    this.reason = reason
  }
}

/** Describes an ephemeral node that gives a right. */
export interface HeldNode {
  readonly path: string
  /** The zxid of its creation. */
  readonly stat: Stat
  /** The czxid of the node by default. */
  readonly token?: bigint | undefined
  /**
   * The condition for holding the right. By default the node must exist, which is enough for names
   * that nobody else ever uses.
   */
  readonly checks?: readonly Check[] | undefined
  /** Releases it, by default by deleting the node. It must succeed if nothing is left. */
  readonly giveBack?: (() => Promise<void>) | undefined
}

export interface Check {
  readonly path: string
  readonly version?: number | undefined
}

/**
 * Holds the right that an ephemeral node of this client's current session gives.
 *
 *     const { path, stat } = await client.create('/workers/me', '', { ephemeral: true })
 *     await using held = hold(client, { path, stat })
 *     held.signal.addEventListener('abort', () => stopWriting())
 */
export function hold(client: Client, node: HeldNode, options: HoldOptions = {}): Held {
  if (node.stat.ephemeralOwner === 0n)
    throw new TypeError(`the node is not ephemeral, and so no session holds it: ${node.path}`)
  return new HeldByNode(client, node).judgeBy(policyOf(options))
}

/** The first defined value. */
export function policyOf(...options: readonly HoldOptions[]): LossPolicy {
  const lostOn = options.find((one) => one.lostOn !== undefined)?.lostOn ?? 'suspended'
  if (lostOn === 'suspended' || lostOn === 'expired') return lostOn
  throw new TypeError(`lostOn is 'suspended' or 'expired', not ${String(lostOn)}`)
}

/** Published on the channel `zabra:recipes:held`: a right was acquired, released or lost. */
export interface HeldTrace {
  readonly event: 'held' | 'ended'
  readonly path: string
  readonly token: bigint
  /** Why it ended. */
  readonly reason: LossReason | undefined
}

/** At first only a place in a queue, which survives a lost connection. */
export class HeldByNode implements Held {
  readonly token: bigint
  readonly path: string
  private readonly client: Client
  private readonly node: HeldNode
  /** Undefined while it is only a place. */
  private policy: LossPolicy | undefined
  private readonly controller = new AbortController()
  private readonly stopListening: () => void
  private releasing: Promise<void> | undefined
  private isHandingOn = false

  constructor(client: Client, node: HeldNode) {
    this.client = client.patient
    this.node = node
    this.path = node.path
    this.token = node.token ?? node.stat.czxid
    const stops = [
      client.onState((state) => this.judge(state)),
      // Before the server lets the next one in.
      client.onClosing(() => this.lose('closed')),
    ]
    this.stopListening = () => {
      for (const stop of stops) stop()
    }
    this.judge(client.state)
    if (!this.signal.aborted) this.watchNode()
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  get sessionId(): bigint {
    return this.node.stat.ephemeralOwner
  }

  get deadlineMs(): number {
    return this.signal.aborted ? 0 : this.client.aliveUntilMs
  }

  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
    const checks = this.node.checks ?? [{ path: this.path }]
    const failed = (refusal: TransactionError): LostError => {
      const { reason } = this.signal
      return new LostError(
        reason instanceof LostError ? reason.reason : 'deleted',
        this.path,
        refusal,
      )
    }
    const { chroot } = this.client
    transaction.guardedBy({ checks, chroot, assert: () => this.signal.throwIfAborted(), failed })
    return transaction
  }

  release(): Promise<void> {
    this.releasing ??= this.giveBack()
    return this.releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  /** From now on it is held, and lost by this policy. */
  judgeBy(policy: LossPolicy): this {
    this.policy = policy
    this.publish('held', undefined)
    if (this.signal.aborted) this.publish('ended', (this.signal.reason as LostError).reason)
    else this.judge(this.client.state)
    return this
  }

  /** Runs something that deletes the node on purpose: listeners see a release, not a loss. */
  async handOn<T>(act: () => Promise<T>): Promise<T> {
    this.isHandingOn = true
    try {
      return await act()
    } finally {
      this.isHandingOn = false
    }
  }

  private judge(state: State): void {
    if (state.name === 'closed') this.lose('closed')
    else if (state.name === 'expired' || state.name === 'connecting') this.lose('expired')
    // A later session does not own the node.
    else if (state.session.id !== this.node.stat.ephemeralOwner) this.lose('expired')
    else if (state.name === 'suspended' && this.policy === 'suspended') this.lose('suspended')
  }

  private lose(reason: LossReason): void {
    this.stopListening()
    if (this.signal.aborted) return
    this.controller.abort(new LostError(reason, this.path))
    if (this.policy !== undefined) this.publish('ended', reason)
  }

  private publish(event: HeldTrace['event'], reason: LossReason | undefined): void {
    const channel = this.client.host.channel?.('zabra:recipes:held')
    if (channel?.hasSubscribers !== true) return
    const { path, token } = this
    channel.publish({ event, path, token, reason } satisfies HeldTrace)
  }

  /** Watches for deletion by others: an operator, or somebody tired of waiting. */
  private watchNode(): void {
    const again = (event?: WatchEvent): void => {
      if (this.signal.aborted) return
      // The node is gone, and a watch on a missing node would stay forever.
      if (event?.type === 'deleted') this.lose(this.isHandingOn ? 'released' : 'deleted')
      else this.watchNode()
    }
    this.client.exists(this.path, { watch: again }).then(
      (stat) => {
        if (stat?.czxid !== this.node.stat.czxid)
          this.lose(this.isHandingOn ? 'released' : 'deleted')
      },
      (error: unknown) => {
        if (error instanceof ConnectionLossError) again()
        // The client was being closed before the listener was added.
        else if (error instanceof ClosedError) this.lose('closed')
        // A server that cannot answer now will be able to later.
        else if (isRefusal(error) && !isRefusal(error, 'noAuth'))
          pause(this.client.host, refusedPauseMs, this.signal).then(
            () => again(),
            () => {},
          )
      },
    )
  }

  private async giveBack(): Promise<void> {
    // The work under the signal must be told before anybody else can begin.
    this.lose('released')
    const { client, node, signal } = this
    const isDoubtful = (signal.reason as LostError).reason === 'deleted'
    await (node.giveBack?.() ?? deleteMade(client, node, isDoubtful))
  }
}
