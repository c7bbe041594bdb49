import { errorCodes, eventTypes, type SetWatches2 } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { noNode } from '../state/tree/tree.ts'
import { watchModes } from '../state/watch/watch-table.ts'
import type { Requester } from './operation.ts'

/** After a reconnect: sends the events that the client missed, and watches the rest again. */
export function restoreWatches(db: Database, from: Requester, request: SetWatches2): number {
  const { tree, watches } = db
  const since = request.relativeZxid
  const { standard, persistent, recursive } = watchModes
  const { nodeCreated, nodeDeleted, nodeDataChanged, nodeChildrenChanged } = eventTypes
  if (request.dataWatches === null) return errorCodes.marshallingError
  for (const path of request.dataWatches) {
    const id = tree.find(path)
    if (id === noNode) watches.catchUp(from, nodeDeleted, path)
    else if (tree.mzxid(id) > since) watches.catchUp(from, nodeDataChanged, path)
    else watches.data.add(path, from, standard)
  }
  if (request.existWatches === null) return errorCodes.marshallingError
  for (const path of request.existWatches) {
    if (tree.find(path) === noNode) watches.data.add(path, from, standard)
    else watches.catchUp(from, nodeCreated, path)
  }
  if (request.childWatches === null) return errorCodes.marshallingError
  for (const path of request.childWatches) {
    const id = tree.find(path)
    if (id === noNode) watches.catchUp(from, nodeDeleted, path)
    else if (tree.pzxid(id) > since) watches.catchUp(from, nodeChildrenChanged, path)
    else watches.children.add(path, from, standard)
  }
  if (request.persistentWatches === null) return errorCodes.marshallingError
  for (const path of request.persistentWatches) {
    watches.data.add(path, from, persistent)
    watches.children.add(path, from, persistent)
  }
  if (request.persistentRecursiveWatches === null) return errorCodes.marshallingError
  for (const path of request.persistentRecursiveWatches) watches.data.add(path, from, recursive)
  return errorCodes.ok
}
