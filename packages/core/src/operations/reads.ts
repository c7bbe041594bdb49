import {
  AclList,
  addWatchModes,
  AddWatchRequest,
  decodeText,
  errorCodes,
  eventTypes,
  GetEphemeralsRequest,
  MalformedError,
  MultiRequest,
  PathRequest,
  permissions,
  SetWatches,
  SetWatches2,
  SyncRequest,
  watcherTypes,
  WatchTypeRequest,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
  type Reader,
  type Writer,
} from '@zabra/protocol'
import { allows, maskAcl } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { noNode, type NodeId } from '../state/tree/tree.ts'
import { anyMode, watchModes } from '../state/watch/watch-table.ts'
import type { Watcher } from '../state/watch/watches.ts'

/** A connection, as far as reading is concerned. */
export interface Requester extends Watcher {
  readonly sessionId: bigint
}

/** Answers a request from this server's state: the body goes to `out`, the error is returned. */
export type Answer = (db: Database, from: Requester, request: Reader, out: Writer) => number

/** The node a request names, found by the bytes of its path where they are plain. */
function findNode(db: Database, request: Reader): NodeId {
  const length = request.int()
  const start = request.position
  const end = start + length
  if (length < 0 || end > request.end) throw new MalformedError('a path that is not there')
  request.position = end
  const id = db.tree.findAscii(request.bytes, start, end)
  return id === -1 ? db.tree.find(decodeText(request.bytes, start, end)) : id
}

function mayRead(db: Database, from: Requester, id: NodeId): boolean {
  return allows(db.options.acl, db.aclOf(id), permissions.read, from.identities)
}

/** The path of a request that `findNode` went past: only needed where it is remembered. */
function pathAt(request: Reader, at: number): string {
  request.position = at
  const path = request.ustring()
  request.position++
  return path
}

const exists: Answer = (db, from, request, out) => {
  const at = request.position
  const id = findNode(db, request)
  const wantsWatch = request.bool()
  if (id === noNode) {
    const path = pathAt(request, at)
    if (path.includes('\0')) return errorCodes.badArguments
    if (wantsWatch) db.watches.data.add(path, from, watchModes.standard)
    return errorCodes.noNode
  }
  if (!mayRead(db, from, id)) return errorCodes.noAuth
  if (wantsWatch) db.watches.data.add(pathAt(request, at), from, watchModes.standard)
  db.tree.writeStat(id, out)
  return errorCodes.ok
}

const getData: Answer = (db, from, request, out) => {
  const at = request.position
  const id = findNode(db, request)
  const wantsWatch = request.bool()
  if (id === noNode) return errorCodes.noNode
  if (!mayRead(db, from, id)) return errorCodes.noAuth
  if (wantsWatch) db.watches.data.add(pathAt(request, at), from, watchModes.standard)
  db.tree.writeData(id, out)
  db.tree.writeStat(id, out)
  return errorCodes.ok
}

const listChildren =
  (withStat: boolean): Answer =>
  (db, from, request, out) => {
    const at = request.position
    const id = findNode(db, request)
    const wantsWatch = request.bool()
    if (id === noNode) return errorCodes.noNode
    if (!mayRead(db, from, id)) return errorCodes.noAuth
    if (wantsWatch) db.watches.children.add(pathAt(request, at), from, watchModes.standard)
    db.tree.writeChildren(id, out)
    if (withStat) db.tree.writeStat(id, out)
    return errorCodes.ok
  }

const getAcl: Answer = (db, from, request, out) => {
  const id = findNode(db, request)
  if (id === noNode) return errorCodes.noNode
  const entry = db.aclOf(id)
  const { read, admin } = permissions
  if (!allows(db.options.acl, entry, read | admin, from.identities)) return errorCodes.noAuth
  const isAdmin = allows(db.options.acl, entry, admin, from.identities)
  AclList.write(out, isAdmin ? [...entry.acl] : maskAcl(entry.acl))
  db.tree.writeStat(id, out)
  return errorCodes.ok
}

const getAllChildrenNumber: Answer = (db, from, request, out) => {
  const { path } = PathRequest.read(request)
  const id = db.tree.find(path)
  if (id === noNode) return errorCodes.noNode
  if (!mayRead(db, from, id)) return errorCodes.noAuth
  // The empty path counts the root among its own descendants, as in Apache.
  out.int(db.tree.descendantCount(id) + (path === '' ? 1 : 0))
  return errorCodes.ok
}

const getEphemerals: Answer = (db, from, request, out) => {
  const { prefixPath } = GetEphemeralsRequest.read(request)
  const isAll = prefixPath === null || prefixPath.trim() === '' || prefixPath === '/'
  const paths = [...db.tree.ephemeralsOf(from.sessionId)]
    .map((id) => db.tree.pathOf(id))
    .filter((path) => isAll || path.startsWith(prefixPath))
  out.int(paths.length)
  for (const path of paths) out.ustring(path)
  return errorCodes.ok
}

const whoAmI: Answer = (_db, from, _request, out) => {
  out.int(from.identities.length)
  for (const { scheme, id } of from.identities) {
    out.nullableText(scheme)
    out.nullableText(scheme === 'digest' ? (id?.split(':')[0] ?? '') : id)
  }
  return errorCodes.ok
}

/** The path is only echoed: on the server that decides, everything before is applied anyway. */
const sync: Answer = (_db, _from, request, out) => {
  out.nullableText(SyncRequest.read(request).path)
  return errorCodes.ok
}

const ping: Answer = () => errorCodes.ok

/** Even null can be watched, as in Apache, though nothing ever happens to it. */
const nullPath = '\0'

const addWatch: Answer = (db, from, request, out) => {
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
}

/** Which table and modes a type of watch means. */
function watchesOf(type: number): { data: number; children: number } | undefined {
  const { standard, persistent, recursive } = watchModes
  switch (type) {
    case watcherTypes.children:
      return { data: 0, children: standard }
    case watcherTypes.data:
      return { data: standard, children: 0 }
    case watcherTypes.any:
      return { data: anyMode, children: anyMode }
    case watcherTypes.persistent:
      return { data: persistent, children: persistent }
    case watcherTypes.persistentRecursive:
      return { data: recursive, children: 0 }
    default:
      return undefined
  }
}

const checkWatches: Answer = (db, from, request) => {
  const { path: given, type } = WatchTypeRequest.read(request)
  const path = given ?? nullPath
  const modes = watchesOf(type)
  if (modes === undefined) return errorCodes.marshallingError
  const has =
    (db.watches.data.modes(path, from) & modes.data) !== 0 ||
    (db.watches.children.modes(path, from) & modes.children) !== 0
  return has ? errorCodes.ok : errorCodes.noWatcher
}

const removeWatches: Answer = (db, from, request) => {
  const { path: given, type } = WatchTypeRequest.read(request)
  const path = given ?? nullPath
  const modes = watchesOf(type)
  if (modes === undefined) return errorCodes.marshallingError
  const hadData = db.watches.data.remove(path, from, modes.data)
  const hadChildren = db.watches.children.remove(path, from, modes.children)
  return hadData || hadChildren ? errorCodes.ok : errorCodes.noWatcher
}

/** After a reconnect: what was missed is told at once, the rest is watched again. */
const setWatches: Answer = (db, from, request) => {
  const watches = SetWatches.read(request)
  return restoreWatches(db, from, {
    ...watches,
    persistentWatches: [],
    persistentRecursiveWatches: [],
  })
}

const setWatches2: Answer = (db, from, request) =>
  restoreWatches(db, from, SetWatches2.read(request))

function restoreWatches(db: Database, from: Requester, request: SetWatches2): number {
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

/** Several reads of one state; each has a result of its own, and none sets a watch. */
const multiRead: Answer = (db, from, request, out) => {
  const ops = MultiRequest.read(request)
  for (const op of ops) {
    if (op.type !== 4 && op.type !== 8) {
      writeMultiEnd(out)
      return errorCodes.marshallingError
    }
  }
  for (const { type, request: read } of ops) {
    if (type !== 4 && type !== 8) continue
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
      if (type === 8) {
        db.tree.writeChildren(id, out)
      } else {
        db.tree.writeData(id, out)
        db.tree.writeStat(id, out)
      }
    }
  }
  writeMultiEnd(out)
  return errorCodes.ok
}

/** By the number of the operation. */
export const answers: readonly (Answer | undefined)[] = (() => {
  const table: (Answer | undefined)[] = Array.from({ length: 108 })
  table[3] = exists
  table[4] = getData
  table[6] = getAcl
  table[8] = listChildren(false)
  table[9] = sync
  table[11] = ping
  table[12] = listChildren(true)
  table[17] = checkWatches
  table[18] = removeWatches
  table[22] = multiRead
  table[101] = setWatches
  table[103] = getEphemerals
  table[104] = getAllChildrenNumber
  table[105] = setWatches2
  table[106] = addWatch
  table[107] = whoAmI
  return table
})()
