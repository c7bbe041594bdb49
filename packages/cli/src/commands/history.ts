import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  ls: entry('List changes by path, session, kind and time', () => import('./history/ls.ts')),
  versions: entry('List the versions of a node', () => import('./history/versions.ts')),
  at: entry('Show a node or a subtree as it was', () => import('./history/at.ts')),
  diff: entry('Show what changed between two moments', () => import('./history/diff.ts')),
  undelete: entry(
    'Create a deleted node again, with all below it',
    () => import('./history/undelete.ts'),
  ),
  restore: entry('Put an old version of a node back', () => import('./history/restore.ts')),
})
