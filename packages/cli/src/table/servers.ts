import type { CommandTable } from '../framework/command.ts'
import { entry, hiddenEntry } from './entry.ts'

export const servers: CommandTable = {
  server: entry('Run a ZooKeeper server in the foreground', () => import('../commands/server.ts')),
  dev: entry('Start temporary servers', () => import('../commands/dev.ts')),
  'dev-member': hiddenEntry('A server of `zabra dev`', () => import('../commands/dev-member.ts')),
  shell: entry(
    'Run commands of zkCli.sh and of zabra, at a prompt or from a pipe',
    () => import('../commands/shell.ts'),
  ),
}
