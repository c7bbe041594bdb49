import { hex, noNode } from '@zabra/core'
import {
  nameOf,
  permissions,
  storedKind,
  storedTtlMs,
  type Acl,
  type AclJson,
  type NodeJson,
  type Stat,
} from '@zabra/protocol'
import type { ServerView } from '../view/server-view.ts'
import { badRequest } from './api-error.ts'
import { array, choice, integer, nullable, object, text, type Schema } from './schema.ts'

export function isoTime(ms: bigint): string {
  const time = new Date(Number(ms))
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString()
}

export const hexText: Schema = { type: 'string', pattern: '^0x[0-9a-f]{1,16}$' }

/** The members of every znode, present or past. */
export const nodeMembers = {
  path: text,
  name: text,
  kind: choice('persistent', 'ephemeral', 'container', 'ttl'),
  czxid: hexText,
  mzxid: hexText,
  pzxid: hexText,
  ctime: text,
  mtime: text,
  version: integer,
  cversion: integer,
  aversion: integer,
  ephemeralOwner: nullable(hexText),
  ttlMs: nullable(integer),
  dataLength: integer,
  numChildren: integer,
}

export const nodeSchema = object(nodeMembers)

/** A znode without its data: zxids and sessions in hexadecimal, times in ISO 8601. */
export function nodeJson({ peer }: ServerView, path: string, stat: Stat): NodeJson {
  // Clients do not see the owner field of containers and TTL nodes; the tree does.
  const { tree } = peer.db
  const id = tree.find(path)
  const owner = id === noNode ? stat.ephemeralOwner : tree.owner(id)
  const kind = storedKind(owner)
  return nodeAt(path, stat, kind, kind === 'ttl' ? storedTtlMs(owner) : null)
}

/** The members of a znode, present or past. */
export function nodeAt(
  path: string,
  stat: Stat,
  kind: NodeJson['kind'],
  ttlMs: number | null,
): NodeJson {
  return {
    path,
    name: nameOf(path),
    kind,
    czxid: hex(stat.czxid),
    mzxid: hex(stat.mzxid),
    pzxid: hex(stat.pzxid),
    ctime: isoTime(stat.ctime),
    mtime: isoTime(stat.mtime),
    version: stat.version,
    cversion: stat.cversion,
    aversion: stat.aversion,
    ephemeralOwner: kind === 'ephemeral' ? hex(stat.ephemeralOwner) : null,
    ttlMs,
    dataLength: stat.dataLength,
    numChildren: stat.numChildren,
  }
}

const letters = { c: 'create', r: 'read', w: 'write', d: 'delete', a: 'admin' } as const

export const aclSchema = array(
  object({
    perms: { type: 'string', pattern: '^(?!.*(.).*\\1)[crwda]*$', description: 'of c, r, w, d, a' },
    scheme: text,
    id: text,
  }),
)

export function aclJson(acl: readonly Acl[]): AclJson[] {
  return acl.map(({ perms, id: { scheme, id } }) => ({
    perms: Object.entries(letters)
      .filter(([, name]) => (perms & permissions[name]) !== 0)
      .map(([letter]) => letter)
      .join(''),
    scheme: scheme ?? '',
    id: id ?? '',
  }))
}

export function aclFrom(entries: readonly AclJson[]): Acl[] {
  return entries.map(({ perms, scheme, id }) => ({
    perms: Array.from(perms).reduce(
      (bits, letter) => bits | permissions[letters[letter as keyof typeof letters]],
      0,
    ),
    id: { scheme, id },
  }))
}

export const openAcl: Acl[] = [{ perms: permissions.all, id: { scheme: 'world', id: 'anyone' } }]

/** Data in a request: as text, or in base64 if it is not UTF-8. */
export interface GivenData {
  readonly data?: string
  readonly encoding?: 'utf8' | 'base64'
}

export const dataFields = {
  data: { ...text, description: 'Text, or base64; empty without it' },
  encoding: choice('utf8', 'base64'),
}

export function dataFrom({ data = '', encoding = 'utf8' }: GivenData): Uint8Array {
  const bytes = Buffer.from(data, encoding)
  if (
    encoding === 'base64' &&
    bytes.toString('base64').replace(/=+$/, '') !== data.replace(/=+$/, '')
  ) {
    throw badRequest('data is not valid base64')
  }
  return bytes
}
