import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  ls: entry('List logs with their zxids, times and ends', () => import('./log/ls.ts')),
  dump: entry('Print transactions', () => import('./log/dump.ts')),
  grep: entry('Find transactions by path, session, zxid or time', () => import('./log/grep.ts')),
  stats: entry('Count transactions by kind, path and session', () => import('./log/stats.ts')),
  verify: entry('Check every record and checksum', () => import('./log/verify.ts')),
})
