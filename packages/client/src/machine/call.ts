import type { Reader, Writer } from '@zabra/protocol'
import type { WatchKind, OneShotWatch } from './watch-registry.ts'

/** One kind of request: how it is written, and what becomes of the reply. */
export interface Kind<Request, Result> {
  readonly name: string
  readonly code: number
  /** Repeating it after a lost reply changes nothing. */
  readonly isRead: boolean
  readonly write: (writer: Writer, request: Request) => void
  readonly read: (reader: Reader, call: Call<Request, Result>, zxid: bigint) => Result
  /** Where a refusal is an answer too: noNode to `exists`. */
  readonly refused?: (
    err: number,
    call: Call<Request, Result>,
  ) => { readonly value: Result } | undefined
}

const nothing = (): void => {}

/** An error that is made when a reply comes has a stack that ends there: the caller's is put in its place. */
function nameCaller(reason: unknown, { stack = '' }: { readonly stack?: string }): void {
  if (!(reason instanceof Error) || Object.isFrozen(reason)) return
  const frames = stack.slice(stack.indexOf('\n'))
  reason.stack = `${reason.name}: ${reason.message}${frames}`
}

/** One request on its way, and whoever waits for its reply. */
export class Call<Request = unknown, Result = unknown> {
  readonly kind: Kind<Request, Result>
  readonly request: Request
  /** As the caller wrote it. */
  readonly path: string | undefined
  xid = 0
  /** Sent on the present connection or on an earlier one. */
  wasSent = false
  isDone = false
  repeats = 0
  /** When it was sent last. */
  sentAtMs = 0
  /** The tick of `DefaultDeadlines` at which it is late; 0 for a call that has no such deadline. */
  deadlineTick = 0
  /** The stack of the caller, where it is wanted. */
  origin: { readonly stack?: string } | undefined
  /** Registered when the reply says so. */
  watch: OneShotWatch | undefined
  watchKind: WatchKind = 'data'
  watchPath = ''
  /** A read that must not be answered before a `sync`; or before a write, while others are uncertain. */
  sync: 'never' | 'ifUncertain' | 'always' = 'never'
  /** Whatever the kind wants to know when the reply comes. */
  context: unknown
  /** Takes back the deadline and the listening to a signal. */
  release: (() => void) | undefined
  private resolve: (value: Result) => void = nothing
  private reject: (reason: unknown) => void = nothing

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

  /** Somebody waits for its reply, and will hear of a refusal. */
  get isAwaited(): boolean {
    return this.reject !== nothing && !this.isDone
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
