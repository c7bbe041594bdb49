import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  check: entry('Explain a zoo.cfg line by line', () => import('./config/check.ts')),
})
