import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  add: entry('Save servers and identities under a name', () => import('./context/add.ts')),
  ls: entry('List the contexts', () => import('./context/ls.ts')),
  use: entry('Choose the default context', () => import('./context/use.ts')),
  show: entry('Show a context, without its passwords', () => import('./context/show.ts')),
  rm: entry('Remove a context', () => import('./context/rm.ts')),
})
