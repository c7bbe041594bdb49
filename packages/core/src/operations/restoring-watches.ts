import { errorCodes, eventTypes, type EventType, type SetWatches2 } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { noNode, type NodeId } from '../state/tree/tree.ts'
import { watchModes } from '../state/watch/watch-table.ts'
import type { Requester } from './operation.ts'
import { mayRead } from './reading.ts'

/**
 * Restores watches after a reconnect: sends the events that the client missed, and sets the other
 * watches again. If the client may not read a changed node, its watch is used up without an event,
 * as for a connected client. Returns an error if the server would exceed its limit of watches, so
 * that the client goes to another server instead of continuing without its watches.
 */
export function restoreWatches(db: Database, from: Requester, request: SetWatches2): number {
  const { tree, watches } = db
  const since = request.relativeZxid
  const { standard, persistent, recursive } = watchModes
  const { nodeCreated, nodeDeleted, nodeDataChanged, nodeChildrenChanged } = eventTypes
  const tell = (type: EventType, path: string, id: NodeId): void => {
    if (mayRead(db, from, id)) watches.catchUp(from, type, path)
  }
  if (request.dataWatches === null) return errorCodes.marshallingError
  for (const path of request.dataWatches) {
    const id = tree.find(path)
    if (id === noNode) watches.catchUp(from, nodeDeleted, path)
    else if (tree.mzxid(id) > since) tell(nodeDataChanged, path, id)
    else watches.data.add(path, from, standard)
  }
  if (request.existWatches === null) return errorCodes.marshallingError
  for (const path of request.existWatches) {
    const id = tree.find(path)
    if (id === noNode) watches.data.add(path, from, standard)
    else tell(nodeCreated, path, id)
  }
  if (request.childWatches === null) return errorCodes.marshallingError
  for (const path of request.childWatches) {
    const id = tree.find(path)
    if (id === noNode) watches.catchUp(from, nodeDeleted, path)
    else if (tree.pzxid(id) > since) tell(nodeChildrenChanged, path, id)
    else watches.children.add(path, from, standard)
  }
  if (request.persistentWatches === null) return errorCodes.marshallingError
  for (const path of request.persistentWatches) {
    watches.data.add(path, from, persistent)
    watches.children.add(path, from, persistent)
  }
  if (request.persistentRecursiveWatches === null) return errorCodes.marshallingError
  for (const path of request.persistentRecursiveWatches) watches.data.add(path, from, recursive)
  return watches.isFull ? errorCodes.quotaExceeded : errorCodes.ok
}
