import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup(
  {
    ls: entry('List backups and the times they can restore', () => import('./backup/ls.ts')),
    verify: entry(
      'Check every byte of backups, and their order',
      () => import('./backup/verify.ts'),
    ),
  },
  () => import('./backup/take.ts'),
)
