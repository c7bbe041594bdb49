import type { ZabraError } from '@zabra/client'
import { ZkError, ZkUsageError } from './zk-command.ts'

const sentences: Readonly<Record<string, (path: string) => string>> = {
  noNode: (path) => `Node does not exist: ${path}`,
  nodeExists: (path) => `Node already exists: ${path}`,
  notEmpty: (path) => `Node not empty: ${path}`,
  badVersion: (path) => `version No is not valid : ${path}`,
  noChildrenForEphemerals: (path) => `Ephemerals cannot have children: ${path}`,
  noAuth: (path) => `Insufficient permission : ${path}`,
  invalidAcl: (path) => `Acl is not valid : ${path}`,
  quotaExceeded: (path) => `Quota has exceeded : ${path}`,
}

/** The names of refusals that zkCli.sh prints with their code. */
const names: Readonly<Record<string, string>> = {
  badArguments: 'BadArguments',
  connectionLoss: 'ConnectionLoss',
  timeout: 'ConnectionLoss',
  sessionExpired: 'Session expired',
  authFailed: 'AuthFailed',
  noWatcher: 'No such watcher',
  notReadOnly: 'Not a read-only call',
  reconfigDisabled: 'Reconfig is disabled',
  newConfigNoQuorum:
    'No quorum of new config is connected and up-to-date with the leader of last commmitted config - try invoking reconfiguration after new servers are connected and synced',
  reconfigInProgress:
    'Another reconfiguration is in progress -- concurrent reconfigs not supported (yet)',
  unimplemented: 'Unimplemented',
  marshallingError: 'MarshallingError',
  operationTimeout: 'OperationTimeout',
  ephemeralOnLocalSession: 'Ephemeral node creation on local session',
  invalidState: 'Invalid state',
  systemError: 'SystemError',
  throttledOp: 'Op throttled due to high load',
}

/** An error in the words of zkCli.sh. */
export function zkMessage(error: unknown): string {
  if (error instanceof ZkError || error instanceof ZkUsageError) return error.message
  const { code, path, message } = error as Partial<ZabraError>
  if (code !== undefined && error instanceof Error && 'retriable' in error) {
    const sentence = sentences[code]
    if (sentence !== undefined) return sentence(path ?? 'null')
    if (code === 'badArguments' && path !== undefined) return pathMessage(path)
    const name = names[code]
    if (name !== undefined)
      return `KeeperErrorCode = ${name}${path === undefined ? '' : ` for ${path}`}${whyOf(error)}`
  }
  return message ?? String(error)
}

/** The reason for a missing answer, if known. */
function whyOf({ cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
}

/** Why a path is none. */
function pathMessage(path: string): string {
  if (path === '') return 'Path length must be > 0'
  if (!path.startsWith('/')) return 'Path must start with / character'
  if (path.endsWith('/') && path !== '/') return 'Path must not end with / character'
  const invalid = (why: string): string => `Invalid path string "${path}" caused by ${why}`
  const empty = path.indexOf('//')
  if (empty >= 0) return invalid(`empty node name specified @${empty + 1}`)
  const relative = /\/\.\.?(?=\/|$)/.exec(path)
  if (relative !== null)
    return invalid(`relative paths not allowed @${relative.index + relative[0].length - 1}`)
  return invalid('invalid character')
}
