import { pathProblem, type Id, type SimpleTxn } from '@zabra/protocol'
import type { AclEntry } from '../state/acl/acl-table.ts'
import { allows, type Growth } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import type { Projection } from '../state/projection/projection.ts'
import type { RequestBytes } from '../state/tree/request-bytes.ts'
import type { Keeper, ScannedPath } from '../state/tree/scanned-path.ts'
import type { Reconfiguring } from './reconfig.ts'

/** Settings that decide which requests are refused. */
export interface OperationRules {
  readonly enforceQuota: boolean
  readonly reconfigEnabled: boolean
  /** Whether a configuration with one voter means a standalone server (the default). */
  readonly standaloneEnabled?: boolean
  /** Whether a member may have several addresses; not by default. */
  readonly multiAddressEnabled?: boolean
  /** Whether the end of a session lists the nodes that it deletes (`closeSessionTxn.enabled`). */
  readonly closeSessionPaths: boolean
  /**
   * The maximum size of a transaction. Servers accept nothing longer from each other, and Apache
   * accepts nothing longer from its log. The default is Apache's default limit.
   */
  readonly txnBytesMax?: number
  /** The maximum number of operations in one multi. */
  readonly multiOperationsMax?: number
}

/** The client that sent the request. */
export interface Caller {
  readonly sessionId: bigint
  readonly identities: readonly Id[]
  /**
   * The error that refuses ephemeral nodes, if the session cannot have them because not all servers
   * know it.
   */
  readonly ephemeralError?: number | undefined
  /**
   * How much the lists of this request may grow when they get their final form; undefined for no
   * limit.
   */
  readonly growth?: Growth | undefined
}

/**
 * Everything that preparing a request may use, and the values that the transaction is stamped with.
 */
export interface Preparation {
  readonly db: Database
  readonly projection: Projection
  readonly rules: OperationRules
  readonly caller: Caller
  readonly zxid: bigint
  readonly time: bigint
  /** Stores what must still exist when the transaction is applied. */
  readonly keeper: Keeper
  /** Undefined on a standalone server, whose members cannot change. */
  readonly reconfiguring?: Reconfiguring | undefined
}

/** A transaction, with values that preparing it has already computed. */
export type PreparedTxn = SimpleTxn & {
  /** Set for a create. */
  readonly bytes?: RequestBytes
  /** The checksum of path and new data, so that long data is not summed twice. */
  readonly contentChecksum?: number
}

/** The transaction, or the error code that refuses the request: a value, not an exception. */
export type Prepared = PreparedTxn | number

export function mayDo({ db, caller }: Preparation, acl: AclEntry, permission: number): boolean {
  return allows(db.options.acl, acl, permission, caller.identities)
}

export function isVersionWrong(expected: number, actual: number): boolean {
  return expected !== -1 && expected !== actual
}

/** Whether the path has a parent that can be looked up. */
export function hasParent({ text, start, slashAt, isPlain }: ScannedPath): boolean {
  return slashAt >= start && (isPlain || !text.includes('\0'))
}

/** Whether a node may have this path. */
export function isLegal({ text, isPlain }: ScannedPath): boolean {
  return isPlain || pathProblem(text) === undefined
}
