import { pathProblem, type Id, type SimpleTxn } from '@zabra/protocol'
import type { AclEntry } from '../state/acl/acl-table.ts'
import { allows, type Growth } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import type { Projection } from '../state/projection/projection.ts'
import type { RequestBytes } from '../state/tree/request-bytes.ts'
import type { Keeper, ScannedPath } from '../state/tree/scanned-path.ts'
import type { Reconfiguring } from './reconfig.ts'

/** Settings that decide what is refused. */
export interface OperationRules {
  readonly enforceQuota: boolean
  readonly reconfigEnabled: boolean
  /** Whether a configuration with one voter is for a server on its own; so it is by default. */
  readonly standaloneEnabled?: boolean
  /** Whether a member may have several addresses; it may not by default. */
  readonly multiAddressEnabled?: boolean
  /** Whether the end of a session lists the nodes it deletes (`closeSessionTxn.enabled`). */
  readonly closeSessionPaths: boolean
  /**
   * So long may a transaction be: servers read nothing longer from each other, and Apache nothing
   * from its log. As much as Apache reads by default, by default.
   */
  readonly txnBytesMax?: number
  /** Operations that one multi may hold. */
  readonly multiOperationsMax?: number
}

/** Who asks. */
export interface Caller {
  readonly sessionId: bigint
  readonly identities: readonly Id[]
  /** What ephemeral nodes are refused with: a session that not all servers know has none. */
  readonly ephemeralError?: number | undefined
  /** What lists of this request may grow by when they get their final form; none is no bound. */
  readonly growth?: Growth | undefined
}

/** All that preparing one request may look at, and what it will be stamped with. */
export interface Preparation {
  readonly db: Database
  readonly projection: Projection
  readonly rules: OperationRules
  readonly caller: Caller
  readonly zxid: bigint
  readonly time: bigint
  /** For what must be there when the transaction is applied. */
  readonly keeper: Keeper
  /** Undefined on a server on its own, whose members cannot be changed. */
  readonly reconfiguring?: Reconfiguring | undefined
}

/** A transaction, and what whoever prepared it knows already. */
export type PreparedTxn = SimpleTxn & {
  /** Of a create. */
  readonly bytes?: RequestBytes
  /** Of the path and the new data of its znode: what is long need not be summed twice. */
  readonly contentChecksum?: number
}

/** The transaction, or the error code that refuses the request: an answer, not an exception. */
export type Prepared = PreparedTxn | number

export function mayDo({ db, caller }: Preparation, acl: AclEntry, permission: number): boolean {
  return allows(db.options.acl, acl, permission, caller.identities)
}

export function isVersionWrong(expected: number, actual: number): boolean {
  return expected !== -1 && expected !== actual
}

/** Whether a path has a parent that could be asked for. */
export function hasParent({ text, start, slashAt, isPlain }: ScannedPath): boolean {
  return slashAt >= start && (isPlain || !text.includes('\0'))
}

/** Whether a node may have this path. */
export function isLegal({ text, isPlain }: ScannedPath): boolean {
  return isPlain || pathProblem(text) === undefined
}
