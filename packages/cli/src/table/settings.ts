import type { CommandTable } from '../framework/command.ts'
import { entry, hiddenEntry } from './entry.ts'

export const settings: CommandTable = {
  context: entry('Servers and identities under names', () => import('../commands/context.ts')),
  completion: entry(
    'Print completion scripts for bash, zsh and fish',
    () => import('../commands/completion.ts'),
  ),
  complete: hiddenEntry('Completes a command line', () => import('../commands/complete.ts')),
  version: entry('Print the version', () => import('../commands/version.ts')),
}
