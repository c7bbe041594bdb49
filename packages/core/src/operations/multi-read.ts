import {
  codes,
  errorCodes,
  MultiRequest,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
  type Writer,
} from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { mayRead } from './reading.ts'

/** Several reads of the same state. Each has its own result, and none sets a watch. */
export const multiRead: ReadOperation = {
  // As in Apache, the reply of a refused multiRead keeps its list terminator.
  keepsBodyOnError: true,

  answer(db, from, request, out) {
    const ops = MultiRequest.read(request)
    for (const op of ops) {
      if (op.type !== codes.getData && op.type !== codes.getChildren) {
        writeMultiEnd(out)
        return errorCodes.marshallingError
      }
    }
    const start = out.position
    const endMax = start + from.multiReadBytesMax
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
        // Checked before writing: a short request can ask for any number of long answers.
        const isData = type === codes.getData
        if (isData && out.position + db.tree.dataLength(id) > endMax) return tooLong(out, start)
        if (!isData) {
          db.tree.writeChildren(id, out)
        } else {
          db.tree.writeData(id, out)
          db.tree.writeStat(id, out)
        }
        if (out.position > endMax) return tooLong(out, start)
      }
    }
    writeMultiEnd(out)
    return errorCodes.ok
  },
}

/** Removes a partly written reply that has become longer than allowed. */
function tooLong(out: Writer, start: number): number {
  out.position = start
  writeMultiEnd(out)
  return errorCodes.badArguments
}
