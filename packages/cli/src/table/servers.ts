import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

export const servers: CommandTable = {
  server: entry('Run a ZooKeeper server in the foreground', () => import('../commands/server.ts')),
}
