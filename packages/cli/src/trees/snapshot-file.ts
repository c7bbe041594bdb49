import { basename, dirname } from 'node:path'
import { CommandError } from '../framework/errors.ts'
import { readSnapshot, type StoredNode } from '../offline/snapshots.ts'
import { StoredTree } from './stored-tree.ts'
import type { FileTree } from './tree-file.ts'

/** The nodes of a snapshot, of zabra's or Apache's server. */
export async function readSnapshotFile(file: string): Promise<FileTree> {
  const stored = new StoredTree()
  const { acls } = await readSnapshot(dirname(file), basename(file), (node: StoredNode) =>
    stored.add(node),
  ).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== 'SnapshotError') throw error
    throw new CommandError(error.message, { code: 'file', cause: error })
  })
  return { head: { zabra: 'tree', version: 1, top: '/' }, tree: stored.tree(acls) }
}
