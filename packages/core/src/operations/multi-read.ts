import {
  codes,
  errorCodes,
  MultiRequest,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
} from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { mayRead } from './reading.ts'

/** Several reads of one state; each has its own result, and none sets a watch. */
export const multiRead: ReadOperation = {
  // A refused multiRead keeps the end of its list, as in Apache.
  keepsBodyOnError: true,

  answer(db, from, request, out) {
    const ops = MultiRequest.read(request)
    for (const op of ops) {
      if (op.type !== codes.getData && op.type !== codes.getChildren) {
        writeMultiEnd(out)
        return errorCodes.marshallingError
      }
    }
    for (const { type, request: read } of ops) {
      if (type !== codes.getData && type !== codes.getChildren) continue
      if (read.path === null) {
        writeMultiEnd(out)
        return errorCodes.marshallingError
      }
      const id = db.tree.find(read.path)
      if (id === noNode) {
        writeMultiError(out, errorCodes.noNode)
      } else if (!mayRead(db, from, id)) {
        writeMultiError(out, errorCodes.noAuth)
      } else {
        writeMultiSuccess(out, type)
        if (type === codes.getChildren) {
          db.tree.writeChildren(id, out)
        } else {
          db.tree.writeData(id, out)
          db.tree.writeStat(id, out)
        }
      }
    }
    writeMultiEnd(out)
    return errorCodes.ok
  },
}
