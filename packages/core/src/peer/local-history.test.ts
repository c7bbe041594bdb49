import { expect, test } from 'vitest'
import { Database } from '../state/database.ts'
import { Batches } from '../storage/log/log-batch.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { TxnLog } from '../storage/log/txn-log.ts'
import { CommittedLog } from '../storage/log/committed-log.ts'
import { PacketLink, type PeerWire } from './links/packet-link.ts'
import { sendSnapshot } from './links/snapshot-stream.ts'
import type { Journal } from './journal.ts'
import { LocalHistory } from './local-history.ts'

const databaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 0,
  acl: { schemes: new Set<string>(), skipsChecks: false },
} as unknown as ConstructorParameters<typeof Database>[0]
const deafWire: PeerWire = { flushSoon() {}, close() {}, unsentBytes: 0 }

test('a database from the leader is not exact from the moment it is adopted', async () => {
  const sent = new Database(databaseOptions)
  sent.createSystemNodes()
  const from = new PacketLink(deafWire, 0)
  await sendSnapshot(from, sent.snapshotSource(), () => Promise.resolve())
  const to = new PacketLink(deafWire, 0)
  to.received(from.out.written(), 0)

  const disk = new MemoryDisk()
  const db = new Database(databaseOptions)
  db.createSystemNodes()
  let isExactAfter: boolean | undefined
  const journal = {
    // A task that waits to take a snapshot continues here, before any other.
    undisturbed: async (work: () => Promise<void>) => {
      await work()
      isExactAfter = db.isExact
    },
  } as unknown as Journal
  const history = new LocalHistory({
    db,
    databaseOptions,
    recovery: { snapshotDir: 'data', logDir: 'data' },
    disk,
    log: new TxnLog(disk, { directory: 'data' }),
    committedLog: new CommittedLog(500),
    wake: () => {},
    batches: new Batches(),
    journal,
  })
  await history.loadFrom(to, 0x300000000n)
  expect(db.lastZxid).toBe(0x300000000n)
  expect(isExactAfter).toBe(false)
})
