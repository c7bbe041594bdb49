import { SetWatches } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'
import { restoreWatches } from './restoring-watches.ts'

export const setWatches: ReadOperation = {
  notifiesFirst: true,

  answer(db, from, request) {
    const watches = SetWatches.read(request)
    const noWatches = { persistentWatches: [], persistentRecursiveWatches: [] }
    return restoreWatches(db, from, { ...watches, ...noWatches })
  },
}
