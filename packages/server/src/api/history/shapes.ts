import { changeKinds, hex, maskAcl, type Change, type PastNode } from '@zabra/core'
import { type Acl, type ChangeJson, type DataJson, type PastNodeJson } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import { maySeePrivate, type Role } from '../roles.ts'
import { choice, integer, nullable, object, text } from '../schema.ts'
import { aclJson, aclSchema, hexText, isoTime, nodeAt, nodeMembers } from '../shapes.ts'
import { sessionClientSchema, type SessionClients } from './session-clients.ts'

const dataMembers = {
  data: nullable({ ...text, description: 'Text, or base64; null where there is none' }),
  encoding: nullable(choice('utf8', 'base64')),
}

export const changeSchema = object(
  {
    zxid: hexText,
    time: text,
    kind: choice(...changeKinds),
    part: integer,
    parts: integer,
    path: nullable(text),
    version: nullable(integer),
    dataLength: nullable(integer),
    nodeKind: nullable(choice('persistent', 'ephemeral', 'container', 'ttl')),
    ttlMs: nullable(integer),
    cause: nullable(choice('sessionEnd', 'reclaimed', 'expired')),
    timeoutMs: nullable(integer),
    session: nullable(hexText),
    client: sessionClientSchema,
  },
  dataMembers,
)

export const pastNodeSchema = object(nodeMembers, {
  acl: aclSchema,
  ...dataMembers,
})

/** Data in JSON: as text if it is valid UTF-8. */
function dataJson(data: Uint8Array | null): DataJson {
  if (data === null) return { data: null, encoding: null }
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  try {
    return {
      data: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer),
      encoding: 'utf8',
    }
  } catch {
    return { data: buffer.toString('base64'), encoding: 'base64' }
  }
}

export interface ChangeView {
  readonly view: ServerView
  readonly role: Role
  readonly wantsData: boolean
  readonly clients: SessionClients
}

export function changeJson(
  change: Change,
  { view, role, wantsData, clients }: ChangeView,
): ChangeJson {
  const { zxid, timeMs, kind, part, parts, path, version, data, dataLength } = change
  const { nodeKind, ttlMs, cause, timeoutMs, session } = change
  return {
    zxid: hex(zxid),
    time: isoTime(BigInt(timeMs)),
    kind,
    part,
    parts,
    path: path ?? null,
    version: version ?? null,
    dataLength: dataLength ?? null,
    nodeKind: nodeKind ?? null,
    ttlMs: ttlMs ?? null,
    cause: cause ?? null,
    timeoutMs: timeoutMs ?? null,
    session: showsSession(view, role, session) ? hex(session) : null,
    client: clients.of(session),
    ...(wantsData && data !== undefined ? dataJson(data) : {}),
  }
}

/** The id of a session that has ended is of no use to others. */
function showsSession(view: ServerView, role: Role, session: bigint): boolean {
  return maySeePrivate(view, role) || !view.peer.db.sessions.has(session)
}

export interface NodeDetail {
  readonly data?: boolean
  /** Whether to include the hashes in the ACL; undefined leaves the ACL out. */
  readonly acl?: 'whole' | 'masked'
}

export function pastNodeJson(
  { path, data, acl, kind, ttlMs, stat }: PastNode,
  detail: NodeDetail = {},
): PastNodeJson {
  return {
    ...nodeAt(path, stat, kind, ttlMs ?? null),
    ...(detail.acl === undefined ? {} : { acl: aclJson(shownAcl(acl, detail.acl)) }),
    ...(detail.data === true ? dataJson(data) : {}),
  }
}

function shownAcl(acl: readonly Acl[], how: 'whole' | 'masked'): readonly Acl[] {
  return how === 'whole' ? acl : maskAcl(acl)
}
