import { errorCodes, WatchTypeRequest } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'
import { nullPath, watchesOf } from './watch-types.ts'

export const checkWatches: ReadOperation = {
  answer(db, from, request) {
    const { path: given, type } = WatchTypeRequest.read(request)
    const path = given ?? nullPath
    const modes = watchesOf(type)
    if (modes === undefined) return errorCodes.marshallingError
    const has =
      (db.watches.data.modes(path, from) & modes.data) !== 0 ||
      (db.watches.children.modes(path, from) & modes.children) !== 0
    return has ? errorCodes.ok : errorCodes.noWatcher
  },
}
