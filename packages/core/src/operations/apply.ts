import { errorCodes, type Txn, type TxnHeader } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { applyCloseSession, applyCreateSession } from './sessions.ts'
import { applyCreate } from './create.ts'
import { applyDelete } from './delete.ts'
import type { PreparedTxn } from './preparation.ts'
import { applySetAcl } from './set-acl.ts'
import { applySetData } from './set-data.ts'

/**
 * Changes the database by one transaction. A transaction carries results, so this neither decides
 * nor fails: an error it answers with is one that the transaction met while being prepared, or a
 * harmless trace of replaying what a fuzzy snapshot already contains.
 */
export function applyTxn(db: Database, header: TxnHeader, txn: Txn): number {
  if (txn.type !== 14) return applySimple(db, header, txn)
  const { txns } = txn.body
  if (txns.some(({ type }) => type === -1)) return errorCodes.ok
  for (const part of txns) applySimple(db, header, part)
  return errorCodes.ok
}

/** A part of a multi, or a transaction of its own. */
export function applySimple(db: Database, header: TxnHeader, txn: PreparedTxn): number {
  switch (txn.type) {
    case 1:
    case 15:
    case 19:
    case 21:
      return applyCreate(db, header, txn)
    case 2:
    case 20:
      return applyDelete(db, header, txn.body.path)
    case 5:
    case 16:
      return applySetData(db, header, txn)
    case 7:
      return applySetAcl(db, txn.body)
    case -10:
      return applyCreateSession(db, header, txn.body)
    case -11:
      return applyCloseSession(db, header, txn.body)
    case -1:
      return txn.body.err
    case 13:
      return errorCodes.ok
  }
}
