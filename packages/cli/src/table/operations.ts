import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

/** Looking after servers, ensembles and their files. */
export const operations: CommandTable = {
  status: entry(
    'Show role, epoch, zxid, lag and clients of every member',
    () => import('../commands/status.ts'),
  ),
  health: entry('Check the ensemble, with advice', () => import('../commands/health.ts')),
  top: entry('Show busy servers and clients, live', () => import('../commands/top.ts')),
  members: entry('List the members', () => import('../commands/members.ts')),
  reconfig: entry(
    'Change the members of a running ensemble',
    () => import('../commands/reconfig.ts'),
  ),
  'hand-over': entry('Let another member lead', () => import('../commands/hand-over.ts')),
  '4lw': entry('Send a four-letter word', () => import('../commands/4lw.ts')),
  latency: entry(
    'Measure the response time of each server',
    () => import('../commands/latency.ts'),
  ),
  bench: entry('Measure throughput and latency under load', () => import('../commands/bench.ts')),
  backup: entry(
    'Back up a running ensemble, or the files of a server',
    () => import('../commands/backup.ts'),
  ),
  restore: entry(
    'Restore the state at any transaction or time from backups',
    () => import('../commands/restore.ts'),
  ),
  history: entry(
    'Show what changed, and past states of the tree',
    () => import('../commands/history.ts'),
  ),
  why: entry('Explain why a session expired', () => import('../commands/why.ts')),
  log: entry('Read transaction logs, offline', () => import('../commands/log.ts')),
  snapshot: entry('Read snapshots, offline', () => import('../commands/snapshot.ts')),
  config: entry('Explain and check a zoo.cfg', () => import('../commands/config.ts')),
  tls: entry('Create certificates, and check what is served', () => import('../commands/tls.ts')),
  doctor: entry('Examine this machine and the ensemble', () => import('../commands/doctor.ts')),
}
