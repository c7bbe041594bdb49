import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  get: entry('Show who may do what with a node', () => import('./acl/get.ts')),
  set: entry('Change who may do what with a node', () => import('./acl/set.ts')),
})
