import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

/** Reading and changing nodes. */
export const data: CommandTable = {
  ls: entry('List children', () => import('../commands/ls.ts')),
  tree: entry('Draw a node and everything below it', () => import('../commands/tree.ts')),
  get: entry('Print the data of a node', () => import('../commands/get.ts')),
  set: entry('Change the data of a node', () => import('../commands/set.ts')),
  create: entry('Create a node', () => import('../commands/create.ts')),
  edit: entry('Change the data of a node in an editor', () => import('../commands/edit.ts')),
  delete: entry('Delete nodes without children', () => import('../commands/delete.ts')),
  deleteall: entry(
    'Delete a node with everything below it',
    () => import('../commands/deleteall.ts'),
  ),
  stat: entry(
    'Print versions, times, owner and sizes of a node',
    () => import('../commands/stat.ts'),
  ),
  acl: entry('Show or change who may do what with a node', () => import('../commands/acl.ts')),
  quota: entry('Show or change limits of nodes and bytes', () => import('../commands/quota.ts')),
  find: entry('Find nodes by name, kind, size or age', () => import('../commands/find.ts')),
  grep: entry('Search the data of nodes', () => import('../commands/grep.ts')),
  du: entry('Print the sizes of subtrees', () => import('../commands/du.ts')),
  'top-nodes': entry('List the largest nodes', () => import('../commands/top-nodes.ts')),
  cp: entry('Copy nodes, within or between ensembles', () => import('../commands/cp.ts')),
  mv: entry('Move a node with everything below it', () => import('../commands/mv.ts')),
  txn: entry('Carry out several operations in one transaction', () => import('../commands/txn.ts')),
  export: entry('Write nodes to a file', () => import('../commands/export.ts')),
  import: entry('Create nodes from a file', () => import('../commands/import.ts')),
  diff: entry('Compare two trees', () => import('../commands/diff.ts')),
  plan: entry('Show what a file would change', () => import('../commands/plan.ts')),
  apply: entry('Make nodes match a file', () => import('../commands/apply.ts')),
  mirror: entry('Keep a copy of nodes up to date', () => import('../commands/mirror.ts')),
}
