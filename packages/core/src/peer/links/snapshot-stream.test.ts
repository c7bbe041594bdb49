import { MalformedError, packetTypes, Writer } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { TestDatabase } from '../../../test/support/storage.ts'
import { LinkLostError } from '../../consensus/zab/packets.ts'
import { PacketLink, type PeerWire } from './packet-link.ts'
import { receiveSnapshot, sendSnapshot } from './snapshot-stream.ts'
import { settled } from '../../../test/support/puppet.ts'

const deafWire: PeerWire = { flushSoon() {}, close() {}, unsentBytes: 0 }

function somethingToSend(nodes: number): TestDatabase {
  const db = TestDatabase.fresh()
  db.lastZxid = 9n
  db.session(0x1000n, 4000)
  db.session(0x2000n, 6000)
  db.acl(1n, [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }])
  for (let i = 0; i < nodes; i++) db.put(`/node-${i}`, 'x'.repeat(i % 300))
  return db
}

/** The bytes of a snapshot and of a packet behind it. */
async function stream(db: TestDatabase): Promise<Uint8Array> {
  const link = new PacketLink(deafWire, 0)
  await sendSnapshot(link, db.source(), () => Promise.resolve())
  link.send('newLeader', 0x100000000n)
  return link.out.written().slice()
}

test('a database arrives as it was sent, wherever its bytes are cut', async () => {
  const db = somethingToSend(20)
  const bytes = await stream(db)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 0, max: 20 }),
      async (cuts, already) => {
        const link = new PacketLink(deafWire, 0)
        const received = new TestDatabase()
        let at = 0
        const deliver = (turn: number): void => {
          const end = at + cuts[turn % cuts.length]!
          link.received(bytes.subarray(at, end), 0)
          at = end
        }
        for (let turn = 0; turn < already; turn++) deliver(turn)
        const receiving = receiveSnapshot(link, received)
        for (let turn = already; at < bytes.length; turn++) {
          deliver(turn)
          await Promise.resolve()
        }
        await receiving
        expect(received.sessions).toEqual(db.sessions)
        expect(received.acls).toEqual(db.acls)
        expect(received.nodes).toEqual(db.nodes)
        expect((await link.next()).type).toBe(packetTypes.newLeader)
      },
    ),
    { numRuns: 60 },
  )
})

test('a large database is sent in slices, with a pause after each', async () => {
  const link = new PacketLink(deafWire, 0)
  let pauses = 0
  await sendSnapshot(link, somethingToSend(2000).source(), async () => {
    pauses++
    expect(link.out.position).toBeLessThan(100_000 * pauses)
  })
  expect(pauses).toBeGreaterThan(2)
})

test('nothing more is sent to who is gone, and the tree is let go', async () => {
  const link = new PacketLink(deafWire, 0)
  let isReleased = false
  const source = { ...somethingToSend(2000).source(), release: () => (isReleased = true) }
  let pauses = 0
  await sendSnapshot(link, source, async () => {
    pauses++
    link.lost()
  })
  expect(pauses).toBe(1)
  expect(isReleased).toBe(true)
})

test('a connection that ends within a snapshot ends its reading', async () => {
  const bytes = await stream(somethingToSend(5))
  const link = new PacketLink(deafWire, 0)
  const receiving = receiveSnapshot(link, new TestDatabase())
  link.received(bytes.subarray(0, 100), 0)
  link.lost()
  await expect(receiving).rejects.toThrow(LinkLostError)
})

test('a snapshot without its signature is refused', async () => {
  const bytes = await stream(somethingToSend(5))
  const at = Buffer.from(bytes).indexOf('BenWasHere')
  bytes[at] = 0x41
  const link = new PacketLink(deafWire, 0)
  link.received(bytes, 0)
  await expect(receiveSnapshot(link, new TestDatabase())).rejects.toThrow(MalformedError)
})

test('what cannot be a node is not collected for ever', async () => {
  const link = new PacketLink(deafWire, 0)
  const writer = new Writer(64)
  writer.int(0)
  writer.int(0)
  writer.ustring('/a')
  writer.int(0x7fffffff)
  link.received(writer.written(), 0)
  const itemBytesMax = 64 * 1024 * 1024
  const receiving = receiveSnapshot(link, new TestDatabase(), itemBytesMax)
  const refused = expect(receiving).rejects.toThrow(MalformedError)
  const chunk = new Uint8Array(8 * 1024 * 1024)
  for (let i = 0; i < 10; i++) {
    link.received(chunk, 0)
    await settled()
  }
  await refused
})

test('a node of 80 MiB arrives, and its parts are not copied again and again', async () => {
  const large = new Uint8Array(80 * 1024 * 1024).fill(7)
  const db = somethingToSend(5)
  db.put('/large', 'x')
  db.nodes.set('/large', { ...db.nodes.get('/large')!, data: large })
  const bytes = await stream(db)
  const link = new PacketLink(deafWire, 0)
  const received = new TestDatabase()
  const receiving = receiveSnapshot(link, received)
  const set = vi.spyOn(Uint8Array.prototype, 'set')
  onTestFinished(() => set.mockRestore())
  for (let at = 0; at < bytes.length; at += 1024 * 1024) {
    link.received(bytes.slice(at, at + 1024 * 1024), 0)
    await settled()
  }
  await receiving
  const copied = set.mock.calls.reduce((sum, [from]) => sum + from.length, 0)
  expect(Buffer.compare(received.nodes.get('/large')!.data!, large)).toBe(0)
  expect(copied).toBeLessThan(8 * bytes.length)
})
