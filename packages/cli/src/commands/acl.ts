import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  get: entry('Show the ACL of a node', () => import('./acl/get.ts')),
  set: entry('Change the ACL of a node', () => import('./acl/set.ts')),
})
