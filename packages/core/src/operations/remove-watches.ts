import { errorCodes, WatchTypeRequest } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'
import { nullPath, watchesOf } from './watch-types.ts'

export const removeWatches: ReadOperation = {
  answer(db, from, request) {
    const { path: given, type } = WatchTypeRequest.read(request)
    const path = given ?? nullPath
    const modes = watchesOf(type)
    if (modes === undefined) return errorCodes.marshallingError
    const hadData = db.watches.data.remove(path, from, modes.data)
    const hadChildren = db.watches.children.remove(path, from, modes.children)
    return hadData || hadChildren ? errorCodes.ok : errorCodes.noWatcher
  },
}
