import { addWatchModes, AddWatchRequest, errorCodes } from '@zabra/protocol'
import { watchModes } from '../state/watch/watch-table.ts'
import type { ReadOperation } from './operation.ts'
import { nullPath } from './watch-types.ts'

export const addWatch: ReadOperation = {
  answer(db, from, request, out) {
    const { path: given, mode } = AddWatchRequest.read(request)
    const path = given ?? nullPath
    if (mode === addWatchModes.persistent) {
      db.watches.data.add(path, from, watchModes.persistent)
      db.watches.children.add(path, from, watchModes.persistent)
    } else if (mode === addWatchModes.persistentRecursive) {
      db.watches.data.add(path, from, watchModes.recursive)
    } else {
      return errorCodes.marshallingError
    }
    out.int(errorCodes.ok)
    return errorCodes.ok
  },
}
