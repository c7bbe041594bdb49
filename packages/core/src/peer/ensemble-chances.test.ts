/** Ensembles to which everything happens in random order; each run is named by its seed. */
import { expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'

const seeds = Array.from({ length: 20 }, (_, i) => i + 1)
const acts = 40

test.each(seeds)('acknowledged writes survive any faults (seed %i)', async (seed) => {
  const ensemble = new TestEnsemble({
    1: 'participant',
    2: 'participant',
    3: 'participant',
    4: 'observer',
  })
  const servers = [...ensemble.servers.values()]
  const chance = randomOf(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)]!
  const clients: { client: TestClient; asked: Map<number, string> }[] = []
  let created = 0
  const acknowledged = new Set<string>()
  const note = (): void => {
    for (const { client, asked } of clients) {
      for (const { xid, err } of client.replies) if (err === 0) acknowledged.add(asked.get(xid)!)
    }
  }

  const connect = async (server: TestServer): Promise<void> => {
    const client = await server.connect()
    if (!client.isClosed) clients.push({ client, asked: new Map() })
  }
  const write = (): void => {
    for (const { client, asked } of clients.filter((one) => !one.client.isClosed)) {
      for (let i = 0; i < 5; i++) {
        const path = `/n${++created}`
        asked.set(client.askCreate(path), path)
      }
    }
  }
  const happenings: (() => Promise<void> | void)[] = [
    write,
    write,
    write,
    () => ensemble.pass(Math.floor(chance() * 800)),
    () => ensemble.pass(30),
    () => ensemble.settle(),
    () => pick(servers.filter((one) => one.isUp))?.crash(),
    () => pick(servers.filter((one) => !one.isUp))?.start(),
    () => pick(servers.filter((one) => !one.isUp))?.start(),
    () => ensemble.isolate(pick(servers)),
    () => ensemble.heal(),
    async () => {
      const up = pick(servers.filter((one) => one.isServing))
      if (up !== undefined) await connect(up)
    },
    async () => {
      void pick(servers.filter((one) => one.isUp))?.journal!.snapshotNow()
      await ensemble.settle()
    },
  ]

  await ensemble.start(1, 2, 3, 4)
  await ensemble.serving(4)
  await connect(ensemble.leader)
  await connect(ensemble.followers[0]!)
  write()
  await ensemble.pass(50)
  for (let act = 0; act < acts; act++) {
    await pick(happenings)()
    note()
  }
  ensemble.heal()
  for (const server of servers) if (!server.isUp) await server.start()
  await ensemble.serving(4)
  const last = await ensemble.followers[0]!.connect()
  expect(await last.create('/last')).toBe(0)
  note()
  await ensemble.pass(200)
  const [first, ...others] = servers.map(({ paths }) => paths)
  for (const paths of others) expect(paths).toEqual(first)
  for (const path of acknowledged) expect(first).toContain(path)
  expect(acknowledged.size).toBeGreaterThan(0)
  for (const { peer, failures } of servers) {
    expect(failures).toEqual([])
    expect(peer!.db.tree.digest.value).toBe(servers[0]!.peer!.db.tree.digest.value)
  }
})

function randomOf(seed: number): () => number {
  let state = seed * 2654435761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) | 0
    const mixed = Math.imul(state ^ (state >>> 13), 3266489917)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 0x100000000
  }
}
