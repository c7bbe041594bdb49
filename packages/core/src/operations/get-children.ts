import { errorCodes } from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { findNode, mayRead, pathAt } from './reading.ts'

export const getChildren = listChildren(false)

/** getChildren, or getChildren2, whose reply also has the stat of the parent. */
export function listChildren(withStat: boolean): ReadOperation {
  return {
    answer(db, from, request, out) {
      const at = request.position
      const id = findNode(db, request)
      const wantsWatch = request.bool()
      if (id === noNode) return errorCodes.noNode
      if (!mayRead(db, from, id)) return errorCodes.noAuth
      if (wantsWatch && !db.watches.add(db.watches.children, pathAt(request, at), from)) {
        return errorCodes.quotaExceeded
      }
      db.tree.writeChildren(id, out)
      if (withStat) db.tree.writeStat(id, out)
      return errorCodes.ok
    },
  }
}
