import { errorCodes } from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { findNode, mayRead, pathAt } from './reading.ts'

export const exists: ReadOperation = {
  answer(db, from, request, out) {
    const at = request.position
    const id = findNode(db, request)
    const wantsWatch = request.bool()
    if (id === noNode) {
      const path = pathAt(request, at)
      if (path.includes('\0')) return errorCodes.badArguments
      if (wantsWatch && !db.watches.add(db.watches.data, path, from)) {
        return errorCodes.quotaExceeded
      }
      return errorCodes.noNode
    }
    if (!mayRead(db, from, id)) return errorCodes.noAuth
    if (wantsWatch && !db.watches.add(db.watches.data, pathAt(request, at), from)) {
      return errorCodes.quotaExceeded
    }
    db.tree.writeStat(id, out)
    return errorCodes.ok
  },
}
