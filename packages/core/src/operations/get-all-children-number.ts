import { errorCodes, PathRequest } from '@zabra/protocol'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { mayRead } from './reading.ts'

/** Returns the number of all descendants, not only of the children. */
export const getAllChildrenNumber: ReadOperation = {
  answer(db, from, request, out) {
    const { path } = PathRequest.read(request)
    const id = db.tree.find(path)
    if (id === noNode) return errorCodes.noNode
    if (!mayRead(db, from, id)) return errorCodes.noAuth
    // The empty path counts the root among its own descendants, as in Apache.
    out.int(db.tree.descendantCount(id) + (path === '' ? 1 : 0))
    return errorCodes.ok
  },
}
