import { ClientWorkload } from './workloads/client.ts'
import { lockWorkload } from './workloads/lock.ts'
import type { MakeWorkload } from './workload.ts'

/** What programs may do in a run, by name. */
export const workloads = {
  client: (stage) => new ClientWorkload(stage),
  lock: lockWorkload,
} as const satisfies Record<string, MakeWorkload>

export type WorkloadName = keyof typeof workloads

/** How often each is drawn. */
export const weights: Readonly<Record<WorkloadName, number>> = { client: 2, lock: 2 }
