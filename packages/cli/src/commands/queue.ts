import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  put: entry('Put an item in', () => import('./queue/put.ts')),
  take: entry('Take an item out, and work on it', () => import('./queue/take.ts')),
  size: entry('How many items there are', () => import('./queue/size.ts')),
})
