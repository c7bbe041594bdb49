import { errorName, type ErrorName } from '@zabra/protocol'
import { markErrorKind } from './error-kinds.ts'

/** Why a server refuses. `unknown` stands for a number that this client has no name for. */
export type Refusal = Exclude<ErrorName, 'ok'> | 'unknown'

/** Every `code` that an error of the client or of `@zabra/recipes` has. */
export type ErrorCode =
  | Refusal
  | 'connectionLoss'
  | 'sessionExpired'
  | 'closed'
  | 'timeout'
  | 'codec'
  /** Of recipes: a right is not held any more. */
  | 'lost'
  /** Of recipes: the holder does not give back what it was asked for. */
  | 'refused'

export interface ErrorDetails {
  readonly path?: string | undefined
  readonly zxid?: bigint | undefined
  readonly cause?: unknown
  /** The chroot that the path is below, where there is one. */
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
  /** Stable, to branch on. */
  abstract readonly code: ErrorCode
  /** The same call may well succeed later, and repeating it does no harm. */
  abstract readonly retriable: boolean
  /** What the call was about. */
  readonly path: string | undefined
  /** Of the reply, where there was one. */
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

/** The server refused: nothing was changed. */
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

/** One operation of a transaction was refused, and so all of them. */
export class TransactionError extends OperationError {
  static {
    markErrorKind(this, 'TransactionError')
  }
  override readonly name = 'TransactionError'
  /** Which one, counted from 0. */
  readonly index: number

  constructor(index: number, reason: Refusal, details: ErrorDetails) {
    super(reason, details, `operation ${index}: ${describe(reason, details)}`)
    this.index = index
  }
}

/** The connection was lost before the reply came. */
export class ConnectionLossError extends ZabraError {
  static {
    markErrorKind(this, 'ConnectionLossError')
  }
  override readonly name = 'ConnectionLossError'
  readonly code = 'connectionLoss'
  readonly retriable: boolean
  /** The request left, so the server may have carried it out, or may still do so. */
  readonly mayHaveHappened: boolean

  constructor(mayHaveHappened: boolean, details: ErrorDetails = {}) {
    const outcome = mayHaveHappened ? 'the outcome is unknown' : 'nothing was sent'
    super(`the connection was lost${about(details.path)}: ${outcome}`, details)
    this.mayHaveHappened = mayHaveHappened
    this.retriable = !mayHaveHappened
  }
}

/** The session is gone, with its ephemeral nodes and watches. */
export class SessionExpiredError extends ZabraError {
  static {
    markErrorKind(this, 'SessionExpiredError')
  }
  override readonly name = 'SessionExpiredError'
  readonly code = 'sessionExpired'
  readonly retriable = false
  /** The request had left before the session ended. */
  readonly mayHaveHappened: boolean

  constructor(mayHaveHappened: boolean, details: ErrorDetails = {}) {
    super(`the session has expired${about(details.path)}`, details)
    this.mayHaveHappened = mayHaveHappened
  }
}

/** The client was closed. */
export class ClosedError extends ZabraError {
  static {
    markErrorKind(this, 'ClosedError')
  }
  override readonly name = 'ClosedError'
  readonly code = 'closed'
  readonly retriable = false

  constructor(details: ErrorDetails = {}) {
    super(`the client is closed${about(details.path)}`, details)
  }
}

/** The deadline of a call passed. Like a lost connection, it says nothing about the outcome. */
export class TimeoutError extends ZabraError {
  static {
    markErrorKind(this, 'TimeoutError')
  }
  override readonly name = 'TimeoutError'
  readonly code = 'timeout'
  readonly retriable = false
  readonly timeoutMs: number
  readonly mayHaveHappened: boolean

  /** Says what did not come to be, if that is not just an answer. */
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

/** Whether the server refused, and for this reason if one is given. */
export function isRefusal(error: unknown, ...reasons: readonly Refusal[]): error is OperationError {
  if (!(error instanceof OperationError)) return false
  return reasons.length === 0 || reasons.includes(error.reason)
}

/** The same of something that is done in several steps, of which some were taken. */
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
  badVersion: 'the version is another one',
  notEmpty: 'the node has children',
  noAuth: 'not allowed',
  noChildrenForEphemerals: 'an ephemeral node has no children',
  invalidAcl: 'the ACL is not valid',
  authFailed: 'the authentication failed',
  badArguments: 'the arguments are not valid',
  notReadOnly: 'the server takes no writes now',
  noWatcher: 'there is no such watch',
  quotaExceeded: 'the quota is used up',
  throttledOp: 'the server is too busy',
  reconfigDisabled: 'reconfiguration is switched off',
  unimplemented: 'the server does not know or allow this operation',
}

function describe(reason: Refusal, { path, chroot = '' }: ErrorDetails): string {
  const told = `${sentences[reason] ?? 'the server refused'} (${reason})${about(path)}`
  if (chroot === '') return told
  // Everything is missing below a chroot that is not there, and only the root itself says so for sure.
  if (reason === 'noNode' && path === '/')
    return `the chroot ${chroot} does not exist (noNode): client.ensure('/') creates it`
  return `${told} (below the chroot ${chroot})`
}

function about(path: string | undefined): string {
  return path === undefined ? '' : `: ${path}`
}
