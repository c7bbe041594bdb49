/**
 * A load that makes snapshots fuzzy: it deletes nodes, creates them again and gives them children,
 * below many parents at a time, while Apache walks over them.
 */
import { createFlags, type Acl, type MultiOp } from '@zabra/protocol'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'

const sessionMs = 600_000
const parents = 100
const siblings = 40
const acls: readonly Acl[][] = [
  openAcl,
  [...openAcl, { perms: 31, id: { scheme: 'ip', id: '10.0.0.0/8' } }],
  [...openAcl, { perms: 1, id: { scheme: 'ip', id: '10.1.0.0/16' } }],
]

/** Enough nodes that Apache's walk takes long, with load before and behind its position. */
export async function prepare(port: number): Promise<void> {
  const client = await RawClient.connect(port, { timeoutMs: sessionMs })
  const made: Promise<unknown>[] = []
  for (let p = 0; p < parents; p++) {
    made.push(client.create(`/p${p}`, 'parent'))
    for (let s = 0; s < siblings; s++) made.push(client.create(`/p${p}/still${s}`, 'still'))
  }
  await Promise.all(made)
  const quota = '/zookeeper/quota/p0'
  await client.create(quota)
  await client.create(`${quota}/zookeeper_limits`, 'count=5000,bytes=90000000')
  await client.create(`${quota}/zookeeper_stats`, 'count=0,bytes=0')
  await client.close()
}

/** Runs until it is stopped. Requests are sent in order, and some are refused. */
export class Churn {
  readonly done: Promise<void>
  requests = 0
  private isStopping = false

  constructor(port: number, seed: number) {
    this.done = this.run(port, seed)
  }

  async stop(): Promise<void> {
    this.isStopping = true
    await this.done
  }

  private async run(port: number, seed: number): Promise<void> {
    const draw = drawing(seed)
    let client = await RawClient.connect(port, { timeoutMs: sessionMs })
    for (let round = 1; !this.isStopping; round++) {
      const sent: Promise<unknown>[] = []
      for (let i = 0; i < 12; i++) sent.push(...anyChange(client, draw))
      this.requests += sent.length
      await Promise.all(sent)
      if (round % 40 !== 0) continue
      // Its ephemerals are deleted, and others take their names.
      await client.close()
      client = await RawClient.connect(port, { timeoutMs: sessionMs })
    }
    await client.abandon()
  }
}

type Draw = (below: number) => number

function drawing(seed: number): Draw {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function anyChange(client: RawClient, draw: Draw): Promise<unknown>[] {
  const parent = `/p${draw(parents)}`
  const path = `${parent}/n${draw(4)}`
  const child = `${path}/c${draw(3)}`
  const acl = acls[draw(acls.length)]!
  const data = draw(4) === 0 ? null : Buffer.from(`${draw(1000)}`.repeat(draw(20)))
  const create = (at: string, flags = 0): Promise<unknown> =>
    client.call('create', { path: at, data, acl, flags })
  const remove = (at: string): Promise<unknown> => client.call('delete', { path: at, version: -1 })
  switch (draw(10)) {
    case 0:
    case 1:
    case 2: {
      // Deleted with all children, and created again with a child.
      const removals = [0, 1, 2].flatMap((c) => [
        remove(`${path}/c${c}/d`),
        remove(`${path}/c${c}`),
      ])
      return [...removals, remove(path), create(path), create(child), create(`${child}/d`)]
    }
    case 3:
      return [create(path), create(child)]
    case 4:
      return [remove(child), remove(path), create(path, createFlags.ephemeral)]
    case 5:
      return [client.call('setData', { path, data, version: -1 })]
    case 6:
      return [client.call('setACL', { path, acl, version: -1 })]
    case 7:
      return [create(`${parent}/s-`, createFlags.ephemeralSequential)]
    case 8: {
      const request = { data, acl, flags: createFlags.container }
      return [
        remove(child),
        remove(path),
        client.call('createContainer', { path, ...request }),
        create(child),
      ]
    }
    default:
      return [client.call('multi', recreated(path, child, data, acl))]
  }
}

function recreated(path: string, child: string, data: Uint8Array | null, acl: Acl[]): MultiOp[] {
  const request = { data, acl, flags: 0 }
  return [
    { type: 2, request: { path, version: -1 } },
    { type: 1, request: { path, ...request } },
    { type: 1, request: { path: child, ...request } },
    { type: 5, request: { path, data, version: 0 } },
  ]
}
