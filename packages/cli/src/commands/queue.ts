import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  put: entry('Add an item', () => import('./queue/put.ts')),
  take: entry('Take an item and process it', () => import('./queue/take.ts')),
  size: entry('Print the number of items', () => import('./queue/size.ts')),
})
