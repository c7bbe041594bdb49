import type { MakeWorkload } from './workload.ts'
import { barrierWorkload, doubleBarrierWorkload } from './workloads/barriers.ts'
import { TreeCacheWorkload } from './workloads/cache.ts'
import { ClientWorkload } from './workloads/client.ts'
import {
  electionContest,
  lockContest,
  readWriteContest,
  revocableContest,
  semaphoreContest,
  simpleLockContest,
} from './workloads/contests.ts'
import { DelayWorkload } from './workloads/delays.ts'
import { LeaseWorkload } from './workloads/leases.ts'
import { downgradeContest, multiLockContest } from './workloads/more-contests.ts'
import { PartitionWorkload } from './workloads/partitions.ts'
import { ConfigurationWorkload } from './workloads/configuration.ts'
import { CounterWorkload } from './workloads/counter.ts'
import { GroupWorkload } from './workloads/group.ts'
import { HandOverWorkload } from './workloads/hand-over.ts'
import { IdQueueWorkload } from './workloads/id-queue.ts'
import { LeaderOnlyWorkload } from './workloads/leader-only.ts'
import { NamesWorkload } from './workloads/names.ts'
import { PartyWorkload } from './workloads/party.ts'
import { PersistentNodeWorkload } from './workloads/persistent-nodes.ts'
import { QueueWorkload } from './workloads/queue.ts'
import { RendezvousWorkload } from './workloads/rendezvous.ts'
import { ServicesWorkload } from './workloads/services.ts'
import { SharedCountWorkload } from './workloads/shared-count.ts'
import { TwoPhaseCommitWorkload } from './workloads/two-phase-commit.ts'

/** The workloads by name. */
export const workloads = {
  client: (stage) => new ClientWorkload(stage),
  lock: lockContest,
  'simple-lock': simpleLockContest,
  'read-write-lock': readWriteContest,
  'revocable-lock': revocableContest,
  semaphore: semaphoreContest,
  election: electionContest,
  barrier: barrierWorkload,
  'double-barrier': doubleBarrierWorkload,
  group: (stage) => new GroupWorkload(stage),
  queue: (stage) => new QueueWorkload(stage),
  counter: (stage) => new CounterWorkload(stage),
  'tree-cache': (stage) => new TreeCacheWorkload(stage),
  'two-phase-commit': (stage) => new TwoPhaseCommitWorkload(stage),
  configuration: (stage) => new ConfigurationWorkload(stage),
  rendezvous: (stage) => new RendezvousWorkload(stage),
  names: (stage) => new NamesWorkload(stage),
  services: (stage) => new ServicesWorkload(stage),
  'leader-only': (stage) => new LeaderOnlyWorkload(stage),
  'multi-lock': multiLockContest,
  downgrade: downgradeContest,
  lease: (stage) => new LeaseWorkload(stage),
  'delay-queue': (stage) => new DelayWorkload(stage),
  'set-partitioner': (stage) => new PartitionWorkload(stage),
  party: (stage) => new PartyWorkload(stage),
  'id-queue': (stage) => new IdQueueWorkload(stage),
  'persistent-node': (stage) => new PersistentNodeWorkload(stage),
  'shared-count': (stage) => new SharedCountWorkload(stage),
  'session-hand-over': (stage) => new HandOverWorkload(stage),
} as const satisfies Record<string, MakeWorkload>

export type WorkloadName = keyof typeof workloads

/** How often each is drawn. */
export const weights: Readonly<Record<WorkloadName, number>> = {
  client: 4,
  lock: 3,
  'simple-lock': 2,
  'read-write-lock': 2,
  'revocable-lock': 2,
  semaphore: 2,
  election: 2,
  barrier: 1,
  'double-barrier': 2,
  group: 2,
  queue: 3,
  counter: 2,
  'tree-cache': 2,
  'two-phase-commit': 2,
  configuration: 2,
  rendezvous: 2,
  names: 1,
  services: 2,
  'leader-only': 2,
  'multi-lock': 1,
  downgrade: 1,
  lease: 1,
  'delay-queue': 1,
  'set-partitioner': 1,
  party: 1,
  'id-queue': 1,
  'persistent-node': 1,
  'shared-count': 1,
  'session-hand-over': 1,
}
