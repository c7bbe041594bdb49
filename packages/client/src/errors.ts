import { errorName, type ErrorName } from '@zabra/protocol'
import { markErrorKind } from './error-kinds.ts'

/** Errors from a server. `unknown` is a number that this client has no name for. */
export type Refusal = Exclude<ErrorName, 'ok'> | 'unknown'

/** Every `code` of errors from the client or from `@zabra/recipes`. */
export type ErrorCode =
  | Refusal
  | 'connectionLoss'
  | 'sessionExpired'
  | 'closed'
  | 'timeout'
  | 'codec'
  /** From recipes: a right is no longer held. */
  | 'lost'
  /** From recipes: the holder does not release what it was asked for. */
  | 'refused'

export interface ErrorDetails {
  readonly path?: string | undefined
  readonly zxid?: bigint | undefined
  readonly cause?: unknown
  /** The chroot of the path, if there is one. */
  readonly chroot?: string | undefined
}

/**
 * Every error that a client rejects with, except the reasons of aborted signals.
 *
 *     if (error instanceof ZabraError && error.retriable) await again()
 *
 * `instanceof` also recognizes errors of another copy of this package.
 */
export abstract class ZabraError extends Error {
  static {
    markErrorKind(this, 'ZabraError')
  }
  /** Stable, for use in conditions. */
  abstract readonly code: ErrorCode
  /** The same call may succeed later, and repeating it does no harm. */
  abstract readonly retriable: boolean
  /** The path of the call. */
  readonly path: string | undefined
  /** The zxid of the reply, if there was one. */
  readonly zxid: bigint | undefined

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.path = details.path
    this.zxid = details.zxid
  }
}

const retriableRefusals: ReadonlySet<Refusal> = new Set<Refusal>([
  'throttledOp',
  'reconfigInProgress',
  'newConfigNoQuorum',
  'operationTimeout',
])

/**
 * The server refused the request: nothing was changed.
 *
 *     if (error instanceof OperationError && error.reason === 'noNode') console.log(error.path)
 */
export class OperationError extends ZabraError {
  override readonly name: string = 'OperationError'
  static {
    markErrorKind(this, 'OperationError')
  }
  readonly code: Refusal
  readonly retriable: boolean
  readonly reason: Refusal

  constructor(reason: Refusal, details: ErrorDetails = {}, message?: string) {
    super(message ?? describe(reason, details), details)
    this.reason = reason
    this.code = reason
    this.retriable = retriableRefusals.has(reason)
  }
}

/**
 * One operation of a transaction was refused, so none was executed.
 *
 *     if (error instanceof TransactionError) console.log(`operation ${error.index}: ${error.reason}`)
 */
export class TransactionError extends OperationError {
  static {
    markErrorKind(this, 'TransactionError')
  }
  override readonly name = 'TransactionError'
  /** The index of the refused operation. */
  readonly index: number

  constructor(index: number, reason: Refusal, details: ErrorDetails) {
    super(reason, details, `operation ${index}: ${describe(reason, details)}`)
    this.index = index
  }
}

/**
 * The connection was lost before the reply came.
 *
 *     if (error instanceof ConnectionLossError && !error.mayHaveHappened) await again()
 */
export class ConnectionLossError extends ZabraError {
  static {
    markErrorKind(this, 'ConnectionLossError')
  }
  override readonly name = 'ConnectionLossError'
  readonly code = 'connectionLoss'
  readonly retriable: boolean
  /** The request was sent, so the server may have executed it, or may still do so. */
  readonly mayHaveHappened: boolean

  constructor(mayHaveHappened: boolean, details: ErrorDetails = {}) {
    const outcome = mayHaveHappened ? 'the outcome is unknown' : 'nothing was changed'
    super(`the connection was lost${about(details.path)}: ${outcome}`, details)
    this.mayHaveHappened = mayHaveHappened
    this.retriable = !mayHaveHappened
  }
}

/**
 * The session has ended, with its ephemeral nodes and watches.
 *
 *     if (error instanceof SessionExpiredError) console.log('ephemeral nodes are gone')
 */
export class SessionExpiredError extends ZabraError {
  static {
    markErrorKind(this, 'SessionExpiredError')
  }
  override readonly name = 'SessionExpiredError'
  readonly code = 'sessionExpired'
  readonly retriable = false
  /** The request was sent before the session ended. */
  readonly mayHaveHappened: boolean

  constructor(mayHaveHappened: boolean, details: ErrorDetails = {}) {
    super(`the session has expired${about(details.path)}`, details)
    this.mayHaveHappened = mayHaveHappened
  }
}

/**
 * The client was closed.
 *
 *     if (error instanceof ClosedError) return // the program is shutting down
 */
export class ClosedError extends ZabraError {
  static {
    markErrorKind(this, 'ClosedError')
  }
  override readonly name = 'ClosedError'
  readonly code = 'closed'
  readonly retriable = false

  constructor(details: ErrorDetails = {}) {
    const { path, cause } = details
    const why = cause instanceof Error ? ` (${cause.message})` : ''
    super(`the client is closed${why}${about(path)}`, details)
  }
}

/**
 * The deadline of a call passed. As with a lost connection, the outcome is unknown.
 *
 *     if (error instanceof TimeoutError) console.log(error.timeoutMs, error.mayHaveHappened)
 */
export class TimeoutError extends ZabraError {
  static {
    markErrorKind(this, 'TimeoutError')
  }
  override readonly name = 'TimeoutError'
  readonly code = 'timeout'
  readonly retriable = false
  readonly timeoutMs: number
  readonly mayHaveHappened: boolean

  /** Names what did not happen, if that is more than a missing answer. */
  constructor(
    timeoutMs: number,
    mayHaveHappened: boolean,
    details: ErrorDetails = {},
    what = 'no answer',
  ) {
    super(`${what} within ${timeoutMs} ms${about(details.path)}`, details)
    this.timeoutMs = timeoutMs
    this.mayHaveHappened = mayHaveHappened
  }
}

/**
 * Whether the server refused the request, optionally with this code.
 *
 *     if (!isRefusal(error, 'noNode', 'notEmpty')) throw error
 */
export function isRefusal(error: unknown, ...reasons: readonly Refusal[]): error is OperationError {
  if (!(error instanceof OperationError)) return false
  return reasons.length === 0 || reasons.includes(error.reason)
}

/** The error for a call that takes several steps, some of which were done. */
export function uncertain(error: unknown): unknown {
  if (!(error instanceof ZabraError)) return error
  const { path, zxid, cause } = error
  const details = { path, zxid, cause }
  if (error instanceof ConnectionLossError) return new ConnectionLossError(true, details)
  if (error instanceof SessionExpiredError) return new SessionExpiredError(true, details)
  if (error instanceof TimeoutError) return new TimeoutError(error.timeoutMs, true, details)
  return error
}

export function refusalOf(err: number): Refusal {
  const name = errorName(err)
  return name === undefined || name === 'ok' ? 'unknown' : name
}

const sentences: Partial<Record<Refusal, string>> = {
  noNode: 'there is no such node',
  nodeExists: 'the node exists already',
  badVersion: 'the node has another version',
  notEmpty: 'the node has children',
  noAuth: 'not allowed',
  noChildrenForEphemerals: 'an ephemeral node cannot have children',
  invalidAcl: 'the ACL is not valid',
  authFailed: 'the authentication failed',
  badArguments: 'the arguments are not valid',
  notReadOnly: 'the server is read-only',
  noWatcher: 'there is no such watch',
  quotaExceeded: 'the quota is used up',
  throttledOp: 'the server is too busy',
  reconfigDisabled: 'reconfiguration is switched off',
  unimplemented: 'the server does not know or allow this operation',
}

function describe(reason: Refusal, { path, chroot = '' }: ErrorDetails): string {
  const told = `${sentences[reason] ?? 'the server refused'} (${reason})${about(path)}`
  if (chroot === '') return told
  // Every path below a missing chroot is missing, but only asking for the chroot itself is
  // conclusive.
  if (reason === 'noNode' && path === '/')
    return `the chroot ${chroot} does not exist (noNode): client.ensure('/') creates it`
  return `${told} (below the chroot ${chroot})`
}

function about(path: string | undefined): string {
  return path === undefined ? '' : `: ${path}`
}
