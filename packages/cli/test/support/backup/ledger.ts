import type { Acl } from '@zabra/client'
import type { PastTree } from '@zabra/core'

/** A node as one text. */
export function nodeText(data: Uint8Array | null, kind: string, acl: readonly Acl[]): string {
  return JSON.stringify({ data: Buffer.from(data ?? []).toString(), kind, acl })
}

/** A transaction that is known to have happened, by what a server said of it. */
export interface LedgerEntry {
  readonly zxid: bigint
  /** The time that the server gave it, where its stat tells. */
  readonly timeMs: number | undefined
  /** The nodes after a transaction; undefined for a deleted one. */
  readonly changes: readonly (readonly [path: string, node: string | undefined])[]
}

/** The record of the writers: the tree below their tops after every transaction. */
export class Ledger {
  private readonly list: LedgerEntry[] = []
  private isSorted = true

  add(entry: LedgerEntry): void {
    this.list.push(entry)
    this.isSorted = false
  }

  get entries(): readonly LedgerEntry[] {
    if (!this.isSorted) this.list.sort((a, b) => (a.zxid < b.zxid ? -1 : 1))
    this.isSorted = true
    return this.list
  }

  /** The state after a transaction. */
  treeAt(zxid: bigint): Map<string, string> {
    const tree = new Map<string, string>()
    for (const entry of this.entries) {
      if (entry.zxid > zxid) break
      for (const [path, node] of entry.changes) {
        if (node === undefined) tree.delete(path)
        else tree.set(path, node)
      }
    }
    return tree
  }
}

/** How a tree differs from what the ledger says; nothing where it does not. */
export function differences(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string[] {
  const problems: string[] = []
  for (const path of new Set([...wanted.keys(), ...found.keys()])) {
    const [one, other] = [wanted.get(path), found.get(path)]
    if (one !== other) problems.push(`${path} is ${other ?? 'missing'}, not ${one ?? 'missing'}`)
  }
  return problems
}

/** The nodes below the tops of writers, as a past tree has them. */
export function textsOf(past: PastTree, isOurs: (path: string) => boolean): Map<string, string> {
  const found = new Map<string, string>()
  for (const { path, data, acl, kind } of past.walk())
    if (isOurs(path)) found.set(path, nodeText(data, kind, acl))
  return found
}
