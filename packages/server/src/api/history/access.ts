/**
 * Who may see what of the past. Whoever asks about a znode needs the right to read it twice: by the
 * ACL that it has now, and by the one that it had then. Where it is gone, the nearest znode above
 * it that is left stands for it now. So nobody learns from the past what is hidden from them today,
 * and nothing that was hidden then comes to light because a list was opened later.
 */
import { allows, HistoryError, noNode, type Change, type History, type PastTree } from '@zabra/core'
import { parentOf, permissions, type Acl, type Id } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import type { Call } from '../route.ts'

const { read } = permissions

export class PastAccess {
  private readonly view: ServerView
  private readonly identities: readonly Id[]
  /** Nothing is hidden from the super user, nor where ACLs are not checked. */
  readonly seesAll: boolean

  constructor({ view, client }: Pick<Call, 'view' | 'client'>) {
    this.view = view
    this.identities = client.identities
    this.seesAll =
      view.peer.db.options.acl.skipAcl || this.identities.some(({ scheme }) => scheme === 'super')
  }

  /** By the ACL that a znode has now, or else the nearest one above it. */
  mayNow(path: string, perms: number = read): boolean {
    const { db } = this.view.peer
    for (let at = path; ; at = parentOf(at)) {
      const id = db.tree.find(at)
      if (id !== noNode) return allows(db.options.acl, db.aclOf(id), perms, this.identities)
    }
  }

  /** By the ACL that a znode has now; not where there is none. */
  mayIfThere(path: string): boolean {
    return this.view.peer.db.tree.find(path) !== noNode && this.mayNow(path)
  }

  /** By the ACL that it had; undefined where it was not there. */
  mightThen(tree: PastTree, path: string, perms: number = read): boolean | undefined {
    return tree.allows(path, perms, this.view.peer.db.options.acl, this.identities)
  }

  /** Whether a list lets the caller read. */
  grants(acl: readonly Acl[]): boolean {
    const { db } = this.view.peer
    return allows(db.options.acl, db.acls.lookUp(acl), read, this.identities)
  }

  /** Undefined where there was no such znode. */
  maySee(tree: PastTree, path: string): boolean | undefined {
    const might = this.mightThen(tree, path)
    return might === undefined ? undefined : might && this.mayNow(path)
  }

  /** Those of these changes that the caller may see. */
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
    // What was before the oldest tree that is kept cannot be known: then it stays hidden.
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
