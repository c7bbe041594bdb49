import { SetWatches2 } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'
import { restoreWatches } from './restoring-watches.ts'

/** setWatches that also covers the persistent kinds of watches. */
export const setWatches2: ReadOperation = {
  notifiesFirst: true,
  answer: (db, from, request) => restoreWatches(db, from, SetWatches2.read(request)),
}
