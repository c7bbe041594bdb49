import {
  codes,
  createFlags,
  errorCodes,
  isMultiPart,
  isMultiWrite,
  MalformedError,
  MultiRequest,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
  type MultiOp,
  type MultiTxn,
  type MultiWriteOp,
  type Reader,
  type SimpleTxn,
  type TxnHeader,
  type Writer,
} from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import type { Tree } from '../state/tree/tree.ts'
import type { CreateType } from './creating.ts'
import type { WriteOperation } from './operation.ts'
import type { Preparation, Prepared } from './preparation.ts'

/** The functions of other operations that a multi uses for its parts. */
interface Parts {
  prepare(op: MultiWriteOp, preparation: Preparation): Prepared
  apply(db: Database, header: TxnHeader, txn: SimpleTxn): number
  writeResult(tree: Tree, txn: SimpleTxn, out: Writer): void
}

export interface Multi extends WriteOperation<'multi', readonly MultiWriteOp[]> {
  /** Applies the parts in order, and writes the result of each at once, as the tree is then. */
  applyParts(db: Database, header: TxnHeader, txn: MultiTxn, results: Writer | undefined): void
}

/** Several writes, of which all or none take effect. */
export function multiOf(parts: Parts): Multi {
  return {
    decode,

    /**
     * Prepares each operation against the results of those before it. The first refusal takes
     * everything back; the transaction then only records which part was refused.
     */
    prepare(ops, p) {
      if (ops.length > (p.rules.multiOperationsMax ?? Infinity)) return errorCodes.badArguments
      const txns: SimpleTxn[] = []
      p.projection.attempt(() => {
        let failed = false
        for (const op of ops) {
          const prepared: Prepared = failed ? errorCodes.runtimeInconsistency : parts.prepare(op, p)
          failed ||= typeof prepared === 'number'
          txns.push(
            typeof prepared === 'number'
              ? { type: codes.error, body: { err: prepared } }
              : prepared,
          )
        }
        return !failed
      })
      return { type: codes.multi, body: { txns } }
    },

    apply(db, header, { body }) {
      this.applyParts(db, header, body, undefined)
      return errorCodes.ok
    },

    applyParts(db, header, { txns }, results) {
      const isFailed = txns.some(({ type }) => type === codes.error)
      for (const txn of txns) {
        if (isFailed) {
          const err = txn.type === codes.error ? txn.body.err : errorCodes.ok
          if (results !== undefined) writeMultiError(results, err)
          continue
        }
        parts.apply(db, header, txn)
        if (results === undefined || !isMultiPart(txn.type)) continue
        writeMultiSuccess(results, txn.type)
        parts.writeResult(db.tree, txn, results)
      }
      if (results !== undefined) writeMultiEnd(results)
    },
  }
}

const { marshallingError } = errorCodes

function decode(body: Reader): readonly MultiWriteOp[] | number {
  let ops: MultiOp[]
  try {
    ops = MultiRequest.read(body)
  } catch (fault) {
    if (!(fault instanceof MalformedError)) throw fault
    return marshallingError
  }
  if (!ops.every(isMultiWrite)) return marshallingError
  for (const part of ops) {
    // Apache checks in this order, which decides whether the request takes a zxid.
    if (hasUnknownFlags(part)) return marshallingError
    if (needsAcl(part) && part.request.acl === null) throw new MalformedError('no ACL in a multi')
    if (lacksTtl(part)) return marshallingError
  }
  if (ops.some(({ request }) => request.path === null)) return marshallingError
  return ops.map(byFlags)
}

/** Unknown flags: they refuse the whole request. */
function hasUnknownFlags(op: MultiWriteOp): boolean {
  return isCreate(op) && (op.request.flags < 0 || op.request.flags > 6)
}

/** TTL flags on an operation without a TTL: they refuse the whole request as well. */
function lacksTtl(op: MultiWriteOp): boolean {
  return isCreate(op) && isTtl(op.request.flags) && op.type !== codes.createTTL
}

/** Without a list a multi cannot be decoded, except for TTL nodes. */
function needsAcl(op: MultiWriteOp): op is CreateOp {
  return isCreate(op) && !(op.type === codes.createTTL && isTtl(op.request.flags))
}

/**
 * Inside a multi the flags decide what kind of node a create makes; outside, the operation does.
 */
function byFlags(op: MultiWriteOp): MultiWriteOp {
  if (!isCreate(op)) return op
  const { path, data, acl, flags } = op.request
  const request = { path, data, acl, flags }
  if (flags === createFlags.container) return { type: codes.createContainer, request }
  if (op.type === codes.createTTL && !isTtl(flags)) return { type: codes.create, request }
  return op
}

type CreateOp = Extract<MultiWriteOp, { type: CreateType }>
const createTypes: ReadonlySet<number> = new Set<CreateType>([
  codes.create,
  codes.create2,
  codes.createContainer,
  codes.createTTL,
])

function isCreate(op: MultiWriteOp): op is CreateOp {
  return createTypes.has(op.type)
}

function isTtl(flags: number): boolean {
  return flags === createFlags.persistentTtl || flags === createFlags.persistentSequentialTtl
}
