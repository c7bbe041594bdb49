import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup(
  {
    ls: entry(
      'The backups in a directory, and what can be restored',
      () => import('./backup/ls.ts'),
    ),
    verify: entry(
      'Check every byte of backups, and their order, without restoring',
      () => import('./backup/verify.ts'),
    ),
  },
  () => import('./backup/take.ts'),
)
