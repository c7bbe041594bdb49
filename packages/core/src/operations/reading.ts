/** Shared by reads: finds the node that a request names, and checks the permission to read it. */
import { decodeText, MalformedError, permissions, type Reader } from '@zabra/protocol'
import { allows } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import type { NodeId } from '../state/tree/tree.ts'
import type { Requester } from './operation.ts'

/** The node that a request names, found by the bytes of its path if they are plain. */
export function findNode(db: Database, request: Reader): NodeId {
  const length = request.int()
  const start = request.position
  const end = start + length
  if (length < 0 || end > request.end) throw new MalformedError('path length exceeds request')
  request.position = end
  const id = db.tree.findAscii(request.bytes, start, end)
  return id === -1 ? db.tree.find(decodeText(request.bytes, start, end)) : id
}

export function mayRead(db: Database, from: Requester, id: NodeId): boolean {
  return allows(db.options.acl, db.aclOf(id), permissions.read, from.identities)
}

/** The path that `findNode` skipped, for requests that must store it. */
export function pathAt(request: Reader, at: number): string {
  request.position = at
  const path = request.ustring()
  request.position++
  return path
}
