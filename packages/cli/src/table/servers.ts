import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

export const servers: CommandTable = {
  server: entry('Run a ZooKeeper server in the foreground', () => import('../commands/server.ts')),
  shell: entry(
    'Every command of zkCli.sh and of zabra, with a prompt or from a pipe',
    () => import('../commands/shell.ts'),
  ),
}
