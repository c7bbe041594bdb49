/**
 * A snapshot is taken slowly, while nodes before and after its position are deleted and created
 * again: it is fuzzy, and contains them as of different moments.
 */
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import type { Request } from '../client/request.ts'
import type { Fault } from './schedule.ts'

const rounds = 12

export function churn(cluster: Cluster, server: SimServer, fault: Fault, paths: string[]): void {
  const { world, clients } = cluster
  const { amount, forMs } = fault
  const { condition } = server.disk
  clients[fault.client]!.goTo(server.name)
  world.after(200, () => {
    const { journal } = server.process ?? {}
    if (!server.isServing || journal === undefined) return
    condition.slowness = 5 + amount * 60
    void journal.snapshotNow()
    // The crash comes when files are listed for purging: the snapshot has its final name, and
    // nothing else is done.
    if (forMs % 3 === 0) {
      condition.crashesAt = 'list'
      condition.callsUntilCrash = 1
    }
    world.after(Math.min(forMs, 1000), () => (condition.slowness = 1))
    for (let round = 0; round < rounds && paths.length > 0; round++) {
      const path = paths[(forMs + round * round) % paths.length]!
      world.after(1 + round * 5, () => {
        for (const request of remade(path)) clients[fault.client]!.ask(request)
      })
    }
  })
}

function remade(path: string): Request[] {
  const base = { op: 'create', kind: 'create', acl: 'open', flags: 0 } as const
  return [
    { op: 'delete', path, version: -1 },
    { ...base, path, data: 'made again' },
    { ...base, path: `${path}/y`, data: '' },
    { op: 'delete', path: `${path}/y`, version: -1 },
  ]
}
