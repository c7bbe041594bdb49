import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

/** Reading and changing nodes. */
export const data: CommandTable = {
  get: entry('Print what a node holds', () => import('../commands/get.ts')),
  ls: entry('List children', () => import('../commands/ls.ts')),
}
