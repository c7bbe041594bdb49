import type { ZabraError } from '@zabra/client'
import { tlsAdvice } from '../connection/tls-advice.ts'
import { CommandError } from './errors.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'

/** An error as a command reports it, in words or with --json. */
export interface ErrorReport {
  /** Stable, to branch on: `noNode`, `timeout`, `usage` ... */
  readonly code: string
  readonly message: string
  readonly path?: string | undefined
  /** Advice for the user. */
  readonly hint?: string | undefined
  readonly exitCode: ExitCode
}

interface Advice {
  readonly exitCode: ExitCode
  readonly message?: (path: string) => string
  readonly hint?: (path: string) => string
}

/** What to try when no server can be reached. */
export const elsewhere =
  '--servers HOST:PORT, --context NAME or ZABRA_SERVERS name other servers; `zabra dev` starts one'

const advices: Readonly<Record<string, Advice>> = {
  noNode: {
    exitCode: exitCodes.notFound,
    message: (path) => `${path} does not exist`,
    hint: (path) => `\`zabra ls ${parentOf(path)}\` lists its siblings`,
  },
  nodeExists: {
    exitCode: exitCodes.conflict,
    message: (path) => `${path} exists already`,
    hint: (path) => `\`zabra set ${path} DATA\` changes it`,
  },
  notEmpty: {
    exitCode: exitCodes.conflict,
    message: (path) => `${path} has children`,
    hint: (path) => `\`zabra deleteall ${path}\` deletes it with everything below`,
  },
  badVersion: {
    exitCode: exitCodes.conflict,
    message: (path) => `${path} has another version`,
    hint: (path) => `somebody changed it meanwhile; \`zabra get -s ${path}\` shows its version`,
  },
  noAuth: {
    exitCode: exitCodes.notAllowed,
    message: (path) => `not allowed: ${path}`,
    hint: (path) =>
      `--auth digest:USER:PASSWORD presents an identity; \`zabra acl get ${path}\` shows who may do what`,
  },
  authFailed: {
    exitCode: exitCodes.notAllowed,
    message: () => 'the server refused an identity',
    hint: () => 'check --auth, ZABRA_AUTH and `zabra context show`',
  },
  invalidAcl: {
    exitCode: exitCodes.failed,
    hint: () =>
      'an ACL is SCHEME:ID:PERMISSIONS, as world:anyone:cdrwa; `auth::cdrwa` needs --auth',
  },
  noChildrenForEphemerals: {
    exitCode: exitCodes.failed,
    message: (path) => `the parent of ${path} is ephemeral, and ephemeral nodes have no children`,
  },
  quotaExceeded: {
    exitCode: exitCodes.failed,
    hint: (path) => `\`zabra quota ${path}\` shows the quota`,
  },
  notReadOnly: {
    exitCode: exitCodes.unavailable,
    message: () => 'the server has no quorum and takes no writes',
    hint: () => '`zabra status` shows the members of the ensemble',
  },
  unimplemented: {
    exitCode: exitCodes.failed,
    hint: () =>
      'the server does not know this operation, or it is switched off (extendedTypesEnabled for TTLs, reconfigEnabled for reconfig)',
  },
  reconfigDisabled: {
    exitCode: exitCodes.notAllowed,
    hint: () => 'set reconfigEnabled=true in zoo.cfg of every member',
  },
  // Of a path, for example.
  badArguments: { exitCode: exitCodes.usage },
  timeout: { exitCode: exitCodes.unavailable, hint: () => elsewhere },
  connectionLoss: { exitCode: exitCodes.unavailable, hint: () => elsewhere },
  sessionExpired: { exitCode: exitCodes.unavailable },
  closed: { exitCode: exitCodes.unavailable },
}

/** Refusals of the file system. */
const fileErrors: Readonly<Record<string, readonly [ExitCode, string]>> = {
  ENOENT: [exitCodes.notFound, 'does not exist'],
  EACCES: [exitCodes.notAllowed, 'may not be opened'],
  EPERM: [exitCodes.notAllowed, 'may not be opened'],
  EISDIR: [exitCodes.failed, 'is a directory'],
}

/** Describes an error for the user of a command. */
export function describeError(error: unknown): ErrorReport {
  if (error instanceof CommandError) {
    const { code, message, hint, exitCode } = error
    return { code, message, hint, exitCode }
  }
  if (isAbort(error)) {
    return { code: 'interrupted', message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  if (isClientError(error)) return describeClientError(error)
  const { code, message, path: file } = error as Partial<NodeJS.ErrnoException>
  const known = code === undefined ? undefined : fileErrors[code]
  if (known !== undefined) {
    const [exitCode, sentence] = known
    return { code: code!, message: file === undefined ? message! : `${file} ${sentence}`, exitCode }
  }
  // Refusals of arguments by the client, and whatever nobody thought of.
  const isOwn = error instanceof TypeError || error instanceof RangeError
  const text = error instanceof Error && !isOwn && code === undefined ? error.stack : message
  return {
    code: typeof code === 'string' ? code : 'failed',
    message: String(text ?? error),
    exitCode: exitCodes.failed,
  }
}

function describeClientError(error: ZabraError): ErrorReport {
  const { code, path } = error
  const advice = advices[code]
  const isTransaction = 'index' in error
  const message =
    path === undefined || isTransaction ? error.message : (advice?.message?.(path) ?? error.message)
  return {
    code,
    message,
    path,
    hint: tlsAdvice(error.cause) ?? advice?.hint?.(path ?? '/'),
    exitCode: advice?.exitCode ?? exitCodes.failed,
  }
}

/** By its fields, not its class: loading the client for an error would be for nothing. */
function isClientError(error: unknown): error is ZabraError {
  return error instanceof Error && 'retriable' in error && 'code' in error
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}
