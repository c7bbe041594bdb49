import { errorCodes } from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import { watchModes } from '../state/watch/watch-table.ts'
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
      if (wantsWatch) db.watches.data.add(path, from, watchModes.standard)
      return errorCodes.noNode
    }
    if (!mayRead(db, from, id)) return errorCodes.noAuth
    if (wantsWatch) db.watches.data.add(pathAt(request, at), from, watchModes.standard)
    db.tree.writeStat(id, out)
    return errorCodes.ok
  },
}
