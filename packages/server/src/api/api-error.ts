import { errorCodes, errorName } from '@zabra/protocol'

/** A refused request of the HTTP API, as reported to its caller. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The code for programs: `noNode`, `badVersion`, `badRequest`. */
  readonly code: string
  readonly path: string | undefined
  /** Additional members of the answer, such as the stat whose version did not match. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: string,
    message: string,
    path?: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.path = path
    this.details = details
  }
}

export function badRequest(message: string, path?: string): ApiError {
  return new ApiError(400, 'badRequest', message, path)
}

export function notServing(): ApiError {
  return new ApiError(503, 'notServing', 'This server does not serve clients at the moment')
}

/** An error of the protocol, as the answer to an operation. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly err: number

  constructor(err: number) {
    super(errorName(err) ?? `error ${err}`)
    this.err = err
  }
}

export function isRefused(error: unknown, name: keyof typeof errorCodes): error is Refused {
  return error instanceof Refused && error.err === errorCodes[name]
}

const answers: Partial<Record<keyof typeof errorCodes, readonly [status: number, text: string]>> = {
  noNode: [404, 'There is no such znode'],
  noAuth: [403, 'The ACL does not allow this'],
  badVersion: [409, 'The znode has changed: it has another version'],
  nodeExists: [409, 'The znode already exists'],
  notEmpty: [409, 'The znode has children'],
  noChildrenForEphemerals: [409, 'Ephemeral znodes have no children'],
  invalidAcl: [400, 'The ACL is not valid'],
  badArguments: [400, 'The arguments are not valid'],
  marshallingError: [400, 'The server cannot read the request'],
  quotaExceeded: [409, 'A quota or a limit of the server is exceeded'],
  throttledOp: [503, 'The server is overloaded'],
  notReadOnly: [503, 'There is no quorum: only reads are served'],
  authFailed: [401, 'The credentials are wrong'],
  unimplemented: [501, 'This server does not know the operation'],
  sessionClosedRequireSaslAuth: [401, 'The server asks every client for credentials'],
}

/** Translates an error for the caller; undefined if it is an internal error. */
export function toApiError(error: unknown, path?: string): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (!(error instanceof Refused)) return undefined
  const name = errorName(error.err) ?? `error${error.err}`
  const [status, text] = answers[name as keyof typeof errorCodes] ?? [503, `Refused: ${name}`]
  return new ApiError(status, name, text, path)
}
