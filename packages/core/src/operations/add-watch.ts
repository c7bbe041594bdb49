import { addWatchModes, AddWatchRequest, errorCodes } from '@zabra/protocol'
import { watchModes } from '../state/watch/watch-table.ts'
import type { ReadOperation } from './operation.ts'
import { nullPath } from './watch-types.ts'

export const addWatch: ReadOperation = {
  answer(db, from, request, out) {
    const { path: given, mode } = AddWatchRequest.read(request)
    const path = given ?? nullPath
    const isRecursive = mode === addWatchModes.persistentRecursive
    if (!isRecursive && mode !== addWatchModes.persistent) return errorCodes.marshallingError
    if (!db.watches.hasRoom(from)) return errorCodes.quotaExceeded
    if (isRecursive) {
      db.watches.data.add(path, from, watchModes.recursive)
    } else {
      db.watches.data.add(path, from, watchModes.persistent)
      db.watches.children.add(path, from, watchModes.persistent)
    }
    out.int(errorCodes.ok)
    return errorCodes.ok
  },
}
