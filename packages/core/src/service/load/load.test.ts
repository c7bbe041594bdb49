import { codes, Reader } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { LonePeer } from '../../../test/support/lone-peer.ts'
import { Load } from './load.ts'
import { TopCounts } from './top-counts.ts'

test('the path and the client with the most requests come first, and the estimates are close', () => {
  const server = new LonePeer()
  const [busy, calm] = [server.connect('10.0.0.1'), server.connect('10.0.0.2')]
  busy.create('/hot')
  for (let i = 0; i < 300; i++) busy.create(`/cold-${i}`)
  // Two requests in turn, and pings between them: a regular pattern must not be taken for another.
  for (let i = 0; i < 20_000; i++) {
    busy.send('getData', { path: '/hot', watch: false })
    if (i % 2 === 0) calm.send('exists', { path: `/cold-${i % 300}`, watch: false })
    busy.send('ping', {})
    busy.take()
    calm.take()
  }
  const { paths, clients } = server.peer.load.report()
  expect(paths[0]).toMatchObject({ key: '/hot' })
  expect(paths[0]!.reads).toBeGreaterThan(16_000)
  expect(paths[0]!.reads).toBeLessThan(24_000)
  expect(clients.slice(0, 2).map(({ address }) => address)).toEqual(['10.0.0.1', '10.0.0.2'])
  expect(clients[0]!.sessionId).toBe(busy.connection.sessionId)
})

test('a busy server looks at fewer of its requests, a calm one at more again', () => {
  const clock = { nowMs: 0, wallMs: 0 }
  const load = new Load(clock)
  const { connection } = new LonePeer().connect()
  const samplesOf = (requests: number, perMs: number): number => {
    let samples = 0
    for (let i = 0; i < requests; i++) {
      if (i % perMs === 0) clock.nowMs++
      if (--load.untilSample > 0) continue
      load.sample(connection, codes.ping, new Reader())
      samples++
    }
    return samples
  }
  samplesOf(500_000, 1000)
  const busy = samplesOf(1_000_000, 1000)
  expect(busy).toBeGreaterThan(200)
  expect(busy).toBeLessThan(1500)
  samplesOf(500_000, 1)
  expect(samplesOf(64_000, 1)).toBeGreaterThan(500)
})

test('writes count by the path they change, those of a multi by the first', () => {
  const server = new LonePeer()
  const client = server.connect()
  client.create('/a')
  const set = { type: 5, request: { path: '/a', data: null, version: -1 } } as const
  for (let i = 0; i < 500; i++) client.call('multi', [set])
  const [top] = server.peer.load.report().paths
  expect(top).toMatchObject({ key: '/a', reads: 0 })
  expect(top!.writes).toBeGreaterThan(300)
})

test('what is counted is forgotten after two minutes', () => {
  const server = new LonePeer()
  const client = server.connect('127.0.0.1', 20_000)
  for (let i = 0; i < 500; i++) client.send('exists', { path: '/', watch: false })
  server.passTime(61_000)
  expect(server.peer.load.report().paths).toHaveLength(1)
  server.passTime(61_000)
  expect(server.peer.load.report().paths).toHaveLength(0)
})

test('the slowest requests are kept with their paths, however many are slow', () => {
  const server = new LonePeer()
  const client = server.connect('10.0.0.9', 20_000)
  client.create('/s')
  for (let ms = 10; ms <= 300; ms++) {
    client.send('setData', { path: '/s', data: null, version: -1 })
    server.nowMs += ms
    server.commit()
    client.take()
  }
  const { slow } = server.peer.load.report()
  expect(slow[0]).toMatchObject({ tookMs: 300, path: '/s', type: 5, address: '10.0.0.9' })
  expect(slow.map(({ tookMs }) => tookMs)).toEqual(Array.from({ length: 64 }, (_, i) => 300 - i))
})

test('a request that cannot be read is counted without a path', () => {
  const server = new LonePeer()
  const client = server.connect()
  const whole = client.encode('getData', { path: '/abc', watch: false })
  const cut = Buffer.from(whole.subarray(0, whole.length - 3))
  cut.writeInt32BE(cut.length - 4, 0)
  for (let i = 0; i < 200; i++) client.sendBytes(cut)
  const { paths, clients } = server.peer.load.report()
  expect(paths).toHaveLength(0)
  expect(clients[0]!.reads).toBeGreaterThan(0)
})

test('a bounded count keeps every key that has more than its share', () => {
  const top = new TopCounts(16)
  for (let i = 0; i < 10_000; i++) {
    top.add(`rare-${i}`, 1, 0)
    if (i % 5 === 0) top.add('often', 0, 1)
  }
  const all = [...top.all()]
  expect(all).toHaveLength(16)
  const often = all.find(({ key }) => key === 'often')!
  expect(often.writes + often.error).toBeGreaterThanOrEqual(2000)
})
