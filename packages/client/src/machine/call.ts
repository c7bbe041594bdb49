import type { Reader, Writer } from '@zabra/protocol'
import { ZabraError } from '../errors.ts'
import type { WatchKind, OneShotWatch } from './watch-registry.ts'

/** One kind of request: how it is written, and how its reply is handled. */
export interface Kind<Request, Result> {
  readonly name: string
  readonly code: number
  /** Repeating it after a lost reply changes nothing. */
  readonly isRead: boolean
  readonly write: (writer: Writer, request: Request) => void
  readonly read: (reader: Reader, call: Call<Request, Result>, zxid: bigint) => Result
  /** For operations where an error is a valid answer, such as noNode for `exists`. */
  readonly refused?: (
    err: number,
    call: Call<Request, Result>,
  ) => { readonly value: Result } | undefined
}

/**
 * A turn of the event loop in which requests are sent, as an object shared by its calls; a number
 * in each call would be an object too.
 */
export interface Turn {
  readonly startedAtMs: number
}

const doNothing = (): void => {}

/**
 * An error made when a reply arrives has a stack that ends there; this replaces it by the caller's.
 * The reason of a signal and the errors of a codec are the program's, and say where they were made.
 */
function nameCaller(reason: unknown, { stack = '' }: { readonly stack?: string }): void {
  if (!(reason instanceof ZabraError) || Object.isFrozen(reason)) return
  const frames = stack.slice(stack.indexOf('\n'))
  reason.stack = `${reason.name}: ${reason.message}${frames}`
}

/** A pending request, and the promise of its caller. */
export class Call<Request = unknown, Result = unknown> {
  readonly kind: Kind<Request, Result>
  readonly request: Request
  /** The path as the caller wrote it. */
  readonly path: string | undefined
  xid = 0
  /** Sent on the current connection or on an earlier one. */
  wasSent = false
  isDone = false
  repeats = 0
  /** The turn in which it was last sent. */
  turn: Turn | undefined
  /** The tick of `DefaultDeadlines` at which it times out; 0 without such a deadline. */
  deadlineTick = 0
  /** The stack of the caller, if that option is on; otherwise calls do not have the field. */
  declare origin: { readonly stack?: string } | undefined
  /** The watch to register when the reply allows it. */
  watch: OneShotWatch | undefined
  watchKind: WatchKind = 'data'
  watchPath = ''
  /** A read that needs a `sync` before it; or a write, while the outcome of others is unknown. */
  sync: 'never' | 'ifUncertain' | 'always' = 'never'
  /** Context that the kind needs when the reply arrives. */
  context: unknown
  /** Cancels the deadline, and removes the listener from a signal. */
  release: (() => void) | undefined
  private resolve: (value: Result) => void = doNothing
  private reject: (reason: unknown) => void = doNothing

  constructor(kind: Kind<Request, Result>, request: Request, path?: string) {
    this.kind = kind
    this.request = request
    this.path = path
  }

  promise(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** The caller still waits for the reply, and will see an error. */
  get isAwaited(): boolean {
    return this.reject !== doNothing && !this.isDone
  }

  succeed(value: Result): void {
    if (this.isDone) return
    this.isDone = true
    this.release?.()
    this.resolve(value)
  }

  fail(reason: unknown): void {
    if (this.isDone) return
    this.isDone = true
    this.release?.()
    if (this.origin !== undefined) nameCaller(reason, this.origin)
    this.reject(reason)
  }
}
