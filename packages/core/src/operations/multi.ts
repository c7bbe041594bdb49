import {
  createFlags,
  errorCodes,
  type MultiTxn,
  type MultiWriteOp,
  type SimpleTxn,
} from '@zabra/protocol'
import { prepareCheck } from './check.ts'
import { prepareCreate, type CreateType } from './create.ts'
import { prepareDelete } from './delete.ts'
import type { Preparation, Prepared } from './preparation.ts'
import { prepareSetData } from './set-data.ts'

/**
 * All or nothing: each operation is prepared against what those before it did; the first refusal
 * takes everything back, and the transaction then only records who refused.
 */
export function prepareMulti(ops: readonly MultiWriteOp[], p: Preparation): MultiTxn {
  const txns: SimpleTxn[] = []
  p.projection.attempt(() => {
    let failed = false
    for (const op of ops) {
      const prepared: Prepared = failed ? errorCodes.runtimeInconsistency : prepareOne(op, p)
      failed ||= typeof prepared === 'number'
      txns.push(typeof prepared === 'number' ? { type: -1, body: { err: prepared } } : prepared)
    }
    return !failed
  })
  return { txns }
}

function prepareOne(op: MultiWriteOp, p: Preparation): Prepared {
  switch (op.type) {
    case 1:
    case 15:
    case 19:
    case 21:
      return prepareCreate(op.type, op.request, p)
    case 2:
      return prepareDelete(op.request, p)
    case 5:
      return prepareSetData(op.request, p)
    case 13:
      return prepareCheck(op.request, p)
  }
}

/** Flags that mean nothing: the whole request is refused for them. */
export function hasUnknownFlags(op: MultiWriteOp): boolean {
  return isCreate(op) && (op.request.flags < 0 || op.request.flags > 6)
}

/** Flags of a TTL node on an operation that has no time to give: the same. */
export function lacksTtl(op: MultiWriteOp): boolean {
  return isCreate(op) && isTtl(op.request.flags) && op.type !== 21
}

/** Without a list a multi cannot even be decoded, unless it is for a TTL node. */
export function needsAcl(op: MultiWriteOp): op is CreateOp {
  return isCreate(op) && !(op.type === 21 && isTtl(op.request.flags))
}

/** Inside a multi the flags decide what a create makes; outside, the operation does. */
export function byFlags(op: MultiWriteOp): MultiWriteOp {
  if (!isCreate(op)) return op
  const { path, data, acl, flags } = op.request
  const request = { path, data, acl, flags }
  if (flags === createFlags.container) return { type: 19, request }
  if (op.type === 21 && !isTtl(flags)) return { type: 1, request }
  return op
}

type CreateOp = Extract<MultiWriteOp, { type: CreateType }>

function isCreate(op: MultiWriteOp): op is CreateOp {
  return op.type === 1 || op.type === 15 || op.type === 19 || op.type === 21
}

function isTtl(flags: number): boolean {
  return flags === createFlags.persistentTtl || flags === createFlags.persistentSequentialTtl
}
