import { userInfo } from 'node:os'
import { type AuditedWrite, hex } from '@zabra/core'
import {
  codes,
  CreateRequest,
  CreateTtlRequest,
  DeleteRequest,
  errorName,
  MultiRequest,
  permissions,
  Reader,
  SetAclRequest,
  SetDataRequest,
  type Acl,
  type Id,
} from '@zabra/protocol'

/** One line of the audit log. Unknown values, and those that do not apply, are left out. */
export interface AuditEvent {
  readonly session?: string | undefined
  /** Comma-separated, as in Apache. */
  readonly user?: string | undefined
  readonly ip?: string | undefined
  readonly operation: string
  readonly znode?: string | undefined
  readonly znodeType?: string | undefined
  readonly acl?: string | undefined
  readonly result: 'success' | 'failure' | 'invoked'
  // Fields that only the JSON form has.
  readonly identities?: readonly string[] | undefined
  readonly zxid?: bigint | undefined
  readonly error?: string | undefined
}

/** The fields of a request that the log shows, as far as they can be decoded. */
interface Asked {
  readonly operation: string
  readonly path?: string | undefined
  readonly mode?: string | undefined
  readonly acl?: string | undefined
}

/** In the order of their flags. */
const modes = [
  'persistent',
  'ephemeral',
  'persistent_sequential',
  'ephemeral_sequential',
  'container',
  'persistent_with_ttl',
  'persistent_sequential_with_ttl',
] as const

/** The operating system user of the server. */
export const serverUser = userInfo().username

/** The audit events of a write: one, or one for each part of a multi that succeeded. */
export function eventsOf(write: AuditedWrite): AuditEvent[] {
  const { type, txn, zxid, error } = write
  const common = {
    session: sessionText(write.sessionId),
    user: usersOf(write.identities),
    ip: write.address,
    identities: write.identities.map(({ scheme, id }) => `${scheme}:${userOf(scheme, id ?? '')}`),
    ...(zxid === 0n ? {} : { zxid }),
  }
  if (type === codes.multi && txn?.type === codes.multi) {
    const { txns } = txn.body
    const refused = txns.find((part) => part.type === codes.error && part.body.err !== 0)
    if (refused?.type === codes.error) {
      const name = errorText(refused.body.err)
      return [{ ...common, operation: 'multiOperation', result: 'failure', error: name }]
    }
    const asked = modesOf(write.request)
    return txns.flatMap((part) => {
      const operation = operationOfTxn(part.type)
      if (operation === undefined || !('path' in part.body)) return []
      const { path: znode } = part.body
      const znodeType = operation === 'create' ? asked.get(znode) : undefined
      return [{ ...common, operation, znode, znodeType, result: 'success' as const }]
    })
  }
  const { operation, path, mode, acl } = read(type, write.request)
  const isGood = error === 0 && txn !== undefined && txn.type !== codes.error
  const made = isGood && 'path' in txn.body ? txn.body.path : undefined
  // Apache does not say which node a failed reconfig or multi was about; neither names one.
  const znode = made ?? path
  return [
    {
      ...common,
      operation,
      znode,
      znodeType: mode,
      acl,
      result: isGood ? 'success' : 'failure',
      ...(isGood ? {} : { error: errorText(error) }),
    },
  ]
}

export function sessionText(sessionId: bigint): string {
  return hex(sessionId)
}

function errorText(error: number): string {
  return errorName(error) ?? String(error)
}

function read(type: number, request: Uint8Array): Asked {
  const reader = new Reader(request)
  try {
    switch (type) {
      case codes.create:
      case codes.create2:
      case codes.createContainer:
        return { operation: 'create', ...created(CreateRequest.read(reader)) }
      case codes.createTTL:
        return { operation: 'create', ...created(CreateTtlRequest.read(reader)) }
      case codes.delete:
      case codes.deleteContainer:
        return { operation: 'delete', path: DeleteRequest.read(reader).path ?? undefined }
      case codes.setData:
        return { operation: 'setData', path: SetDataRequest.read(reader).path ?? undefined }
      case codes.setACL: {
        const { path, acl } = SetAclRequest.read(reader)
        return { operation: 'setAcl', path: path ?? undefined, acl: aclText(acl ?? []) }
      }
      default:
    }
  } catch {
    // The request could not be decoded, which is why it was refused.
  }
  return { operation: operationNames.get(type) ?? 'unknown' }
}

const operationNames: ReadonlyMap<number, string> = new Map([
  [codes.create, 'create'],
  [codes.create2, 'create'],
  [codes.createContainer, 'create'],
  [codes.createTTL, 'create'],
  [codes.delete, 'delete'],
  [codes.deleteContainer, 'delete'],
  [codes.setData, 'setData'],
  [codes.setACL, 'setAcl'],
  [codes.multi, 'multiOperation'],
  [codes.reconfig, 'reconfig'],
])

/** The operation name of a part of a multi; undefined for a check, which changes nothing. */
function operationOfTxn(type: number): string | undefined {
  return type === codes.check ? undefined : operationNames.get(type)
}

function created({ path, flags }: { path: string | null; flags: number }): Partial<Asked> {
  return { path: path ?? undefined, mode: modes[flags] }
}

/** By the requested paths: Apache, too, gives no node type for a sequential node in a multi. */
function modesOf(request: Uint8Array): ReadonlyMap<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  try {
    for (const { type, request: part } of MultiRequest.read(new Reader(request))) {
      if (type !== codes.create && type !== codes.create2 && type !== codes.createContainer)
        continue
      if (part.path !== null) found.set(part.path, modes[part.flags])
    }
  } catch {
    // A committed request can be decoded, so this does not happen.
  }
  return found
}

function usersOf(identities: readonly Id[]): string | undefined {
  const users = identities
    .filter(({ scheme }) => scheme !== 'super')
    .map(({ scheme, id }) => userOf(scheme, id ?? ''))
    .filter((user) => user.trim() !== '')
  return users.length === 0 ? undefined : users.join(',')
}

/** Without password hashes. */
function userOf(scheme: string | null, id: string): string {
  return scheme === 'digest' ? (id.split(':')[0] ?? '') : id
}

const letters = [
  ['c', permissions.create],
  ['d', permissions.delete],
  ['r', permissions.read],
  ['w', permissions.write],
  ['a', permissions.admin],
] as const

function aclText(acl: readonly Acl[]): string {
  return acl
    .map(({ perms, id }) => {
      const granted = letters.filter(([, bit]) => (perms & bit) !== 0).map(([letter]) => letter)
      return `${id.scheme}:${id.id}:${granted.join('')}`
    })
    .join('')
}
