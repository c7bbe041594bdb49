/**
 * The JSON of the HTTP API for znodes and their past. The server writes it; the command and the console
 * read it. Zxids and sessions are hexadecimal text (`0x1f`), times are ISO 8601.
 */
import type { NodeKind } from './node-kind.ts'

/** A znode without its data. */
export interface NodeJson {
  readonly path: string
  readonly name: string
  readonly kind: NodeKind
  readonly czxid: string
  readonly mzxid: string
  readonly pzxid: string
  readonly ctime: string
  readonly mtime: string
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: string | null
  readonly ttlMs: number | null
  readonly dataLength: number
  readonly numChildren: number
}

export interface AclJson {
  /** Of the letters c, r, w, d, a. */
  readonly perms: string
  readonly scheme: string
  readonly id: string
}

/** Data, as text or in base64; null where there is none. */
export interface DataJson {
  readonly data: string | null
  readonly encoding: 'utf8' | 'base64' | null
}

/** A znode as it was. */
export interface PastNodeJson extends NodeJson, Partial<DataJson> {
  readonly acl?: readonly AclJson[]
}

export interface SessionClientJson {
  readonly address: string
  readonly identities: readonly string[]
  /** Its requests came by the HTTP API. */
  readonly isOfApi: boolean
}

export interface ChangeJson extends Partial<DataJson> {
  readonly zxid: string
  readonly time: string
  readonly kind: 'create' | 'set' | 'delete' | 'acl' | 'reconfig' | 'openSession' | 'closeSession'
  /** Its place among the changes of one transaction. */
  readonly part: number
  readonly parts: number
  readonly path: string | null
  readonly version: number | null
  readonly dataLength: number | null
  readonly nodeKind: NodeKind | null
  readonly ttlMs: number | null
  readonly cause: 'sessionEnd' | 'reclaimed' | 'expired' | null
  readonly timeoutMs: number | null
  /** Null where the caller may not see it. */
  readonly session: string | null
  /** The client of the session, as far as the server knows it; files do not. */
  readonly client: SessionClientJson | null
}

/** A znode at two points; null where it was not there. */
export interface DifferenceJson {
  readonly path: string
  readonly before: PastNodeJson | null
  readonly after: PastNodeJson | null
  readonly isDataChanged: boolean
  readonly isAclChanged: boolean
  readonly isRecreated: boolean
}
