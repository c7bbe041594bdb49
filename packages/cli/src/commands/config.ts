import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  check: entry('What a zoo.cfg does here, line by line', () => import('./config/check.ts')),
})
