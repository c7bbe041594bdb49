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
  const mark = p.projection.mark()
  const txns: SimpleTxn[] = []
  let failed = false
  for (const op of ops) {
    const prepared = failed ? errorCodes.runtimeInconsistency : prepareOne(op, p)
    if (typeof prepared === 'number') {
      if (!failed) p.projection.rollBack(mark)
      failed = true
      txns.push({ type: -1, body: { err: prepared } })
    } else {
      txns.push(prepared)
    }
  }
  return { txns }
}

function prepareOne(op: MultiWriteOp, p: Preparation): Prepared {
  switch (op.type) {
    case 1:
    case 15:
    case 19:
    case 21:
      return prepareCreate(createTypeInMulti(op.type, op.request.flags), op.request, p)
    case 2:
      return prepareDelete(op.request, p)
    case 5:
      return prepareSetData(op.request, p)
    case 13:
      return prepareCheck(op.request, p)
  }
}

/** Inside a multi, flags that name a container decide; outside, the operation alone does. */
export function createTypeInMulti(type: CreateType, flags: number): CreateType {
  return flags === createFlags.container ? 19 : type
}
