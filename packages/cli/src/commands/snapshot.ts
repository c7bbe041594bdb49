import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  ls: entry('List snapshots with their zxids and sizes', () => import('./snapshot/ls.ts')),
  dump: entry('Print nodes', () => import('./snapshot/dump.ts')),
  grep: entry('Find nodes by path, session or content', () => import('./snapshot/grep.ts')),
  stats: entry('Count nodes, bytes, sessions and ephemerals', () => import('./snapshot/stats.ts')),
  verify: entry(
    'Check snapshots and the logs that follow them',
    () => import('./snapshot/verify.ts'),
  ),
})
