import { allows, noNode } from '@zabra/core'
import { parentOf, permissions, type Id } from '@zabra/protocol'
import type { Call } from './route.ts'

/**
 * The paths that a caller could find by listing children: the ACLs of all their ancestors let him
 * read. Statistics name no other paths.
 */
export class VisiblePaths {
  private readonly call: Pick<Call, 'view' | 'client'>
  private readonly identities: readonly Id[]
  private readonly listable = new Map<string, boolean>()

  /** Callers that name a subtree know its top, even if an ancestor hides its children. */
  private readonly top: string

  constructor(call: Pick<Call, 'view' | 'client'>, top = '/') {
    this.top = top
    this.call = call
    this.identities = call.client.identities
  }

  has(path: string): boolean {
    return path === this.top || path === '/' || this.mayList(parentOf(path))
  }

  private mayList(path: string): boolean {
    let may = this.listable.get(path)
    if (may === undefined) {
      may = this.mayRead(path) && this.has(path)
      this.listable.set(path, may)
    }
    return may
  }

  private mayRead(path: string): boolean {
    const { db } = this.call.view.peer
    const id = db.tree.find(path)
    // A missing znode has no ACL to check; its ancestors are still checked.
    return id === noNode || this.mayReadNode(id)
  }

  mayReadNode(id: number): boolean {
    const { db } = this.call.view.peer
    return allows(db.options.acl, db.aclOf(id), permissions.read, this.identities)
  }
}
