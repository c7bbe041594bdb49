import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

/** Looking after servers, ensembles and their files. */
export const operations: CommandTable = {
  status: entry(
    'Every member: role, epoch, zxid, lag, clients',
    () => import('../commands/status.ts'),
  ),
  health: entry('Judge the ensemble, with advice', () => import('../commands/health.ts')),
  top: entry('Busy servers and clients, live', () => import('../commands/top.ts')),
  members: entry('The members by the configuration', () => import('../commands/members.ts')),
  reconfig: entry('Change the members while they serve', () => import('../commands/reconfig.ts')),
  'hand-over': entry('Let another member lead', () => import('../commands/hand-over.ts')),
  '4lw': entry('Send a four-letter word', () => import('../commands/4lw.ts')),
  latency: entry('How quickly each server answers', () => import('../commands/latency.ts')),
  bench: entry('Throughput and latency of a load', () => import('../commands/bench.ts')),
  backup: entry(
    'Copy all data of a running ensemble, for any moment to be restored',
    () => import('../commands/backup.ts'),
  ),
  restore: entry('Go back to a moment that backups cover', () => import('../commands/restore.ts')),
  log: entry('Read transaction logs, offline', () => import('../commands/log.ts')),
  snapshot: entry('Read snapshots, offline', () => import('../commands/snapshot.ts')),
  config: entry('What a zoo.cfg does here', () => import('../commands/config.ts')),
  tls: entry('Certificates: make them, and see what is served', () => import('../commands/tls.ts')),
  doctor: entry('Examine this machine and the ensemble', () => import('../commands/doctor.ts')),
}
