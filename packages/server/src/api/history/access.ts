/**
 * Access to the past. Asking about a znode needs read permission twice: by its current ACL, and by
 * the one it had then. If the znode is gone, the nearest ancestor that still exists replaces it for
 * the first check. So history shows nobody what is hidden today, and opening an ACL later does not
 * reveal what was hidden then.
 */
import { allows, HistoryError, noNode, type Change, type History, type PastTree } from '@zabra/core'
import { parentOf, permissions, type Acl, type Id } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import type { Call } from '../route.ts'

const { read } = permissions

export class PastAccess {
  private readonly view: ServerView
  private readonly identities: readonly Id[]
  /** The super user sees everything, and so does everybody if ACLs are not checked. */
  readonly seesAll: boolean

  constructor({ view, client }: Pick<Call, 'view' | 'client'>) {
    this.view = view
    this.identities = client.identities
    this.seesAll =
      view.peer.db.options.acl.skipAcl || this.identities.some(({ scheme }) => scheme === 'super')
  }

  /** Checks the current ACL of a znode, or that of its nearest existing ancestor. */
  mayNow(path: string, perms: number = read): boolean {
    const { db } = this.view.peer
    for (let at = path; ; at = parentOf(at)) {
      const id = db.tree.find(at)
      if (id !== noNode) return allows(db.options.acl, db.aclOf(id), perms, this.identities)
    }
  }

  /** Checks the current ACL of a znode; false if it does not exist. */
  mayIfThere(path: string): boolean {
    return this.view.peer.db.tree.find(path) !== noNode && this.mayNow(path)
  }

  /** Checks the ACL that it had; undefined if it did not exist. */
  mightThen(tree: PastTree, path: string, perms: number = read): boolean | undefined {
    return tree.allows(path, perms, this.view.peer.db.options.acl, this.identities)
  }

  /** Whether an ACL lets the caller read. */
  grants(acl: readonly Acl[]): boolean {
    const { db } = this.view.peer
    return allows(db.options.acl, db.acls.lookUp(acl), read, this.identities)
  }

  /** Undefined if there was no such znode. */
  maySee(tree: PastTree, path: string): boolean | undefined {
    const might = this.mightThen(tree, path)
    return might === undefined ? undefined : might && this.mayNow(path)
  }

  /** The subset of these changes that the caller may see. */
  async visible(history: History, changes: readonly Change[]): Promise<Change[]> {
    if (this.seesAll) return [...changes]
    const isHidden = new Set<Change>()
    const uncertain: { path: string; zxid: bigint; isBefore: boolean; change: Change }[] = []
    for (const change of changes) {
      const { path, zxid, kind } = change
      if (path === undefined) continue
      if (!this.mayNow(path)) isHidden.add(change)
      else if (!this.isAclUnchanged(path, zxid)) {
        isHidden.add(change)
        uncertain.push({ path, zxid, isBefore: kind === 'delete', change })
      }
    }
    // The state before the oldest retained tree is unknown, so it stays hidden.
    await history
      .states(uncertain, ({ path, change }, tree) => {
        if (this.mightThen(tree, path) === true) isHidden.delete(change)
      })
      .catch(unlessUnknown)
    return changes.filter((change) => !isHidden.has(change))
  }

  /** Since this transaction it has been the same znode with the same ACL. */
  private isAclUnchanged(path: string, zxid: bigint): boolean {
    const { tree } = this.view.peer.db
    const id = tree.find(path)
    return id !== noNode && tree.czxid(id) <= zxid && tree.aversion(id) === 0
  }
}

function unlessUnknown(error: unknown): void {
  if (!(error instanceof HistoryError) || error.problem === 'damaged') throw error
}
