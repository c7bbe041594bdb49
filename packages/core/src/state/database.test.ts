/** The digest of the tree, as captured from Apache and as recomputed on the side that prepares. */
import {
  encodeText,
  readTxnBody,
  Reader,
  TxnDigest,
  TxnHeader,
  Writer,
  writeTxnBody,
  type SimpleTxn,
  type Txn,
} from '@zabra/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Database } from './database.ts'
import type { DigestMismatch } from './digest-check.ts'
import { prepareCreate } from '../operations/creating.ts'
import { deleteNode } from '../operations/delete.ts'
import type { Preparation, Prepared } from '../operations/preparation.ts'
import { closeSession } from '../operations/close-session.ts'
import { setAcl } from '../operations/set-acl.ts'
import { setData } from '../operations/set-data.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { Projection } from './projection/projection.ts'
import { adler32 } from '../base/checksum.ts'

const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const sessionId = 0x0100000ce84e0000n

function freshDatabase(): Database {
  const db = new Database({
    extendedTypes: true,
    digests: true,
    hashSeed: 7,
    acl: { skipAcl: false, schemes: new Set() },
  })
  db.createSystemNodes()
  return db
}

test('the digest of an empty tree equals Apache’s', () => {
  expect(freshDatabase().tree.digest.value).toBe(1371985504n)
})

function logged(header: TxnHeader, txn: Txn, treeDigest: bigint): Uint8Array {
  const writer = new Writer()
  TxnHeader.write(writer, header)
  writeTxnBody(writer, txn)
  TxnDigest.write(writer, { version: 2, treeDigest })
  return writer.written()
}

/** The first two transactions of a log written by Apache. */
const sessionStart = logged(
  { clientId: sessionId, cxid: 0, zxid: 0x100000001n, time: 0x1a1ddffab61n, type: -10 },
  { type: -10, body: { timeOut: 10_000 } },
  1371985504n,
)
const createOfA = logged(
  { clientId: sessionId, cxid: 1, zxid: 0x100000002n, time: 1794725882747n, type: 1 },
  {
    type: 1,
    body: {
      path: '/a',
      data: encodeText('hello'),
      acl: open,
      ephemeral: false,
      parentCVersion: 1,
    },
  },
  8972839925n,
)

test('captured transactions are the bytes whose checksums are in the log', () => {
  expect(sessionStart).toHaveLength(48)
  expect(adler32(sessionStart) >>> 0).toBe(0xdb920b49)
  expect(createOfA).toHaveLength(91)
  expect(adler32(createOfA)).toBe(0x61bd0f02)
})

test('replaying captured transactions gives the digests that Apache logged', () => {
  const db = freshDatabase()
  const mismatches: DigestMismatch[] = []
  db.digests.onMismatch = (mismatch) => mismatches.push(mismatch)
  db.replay(new Reader(sessionStart))
  expect(db.tree.digest.value).toBe(1371985504n)
  db.replay(new Reader(createOfA))
  expect(db.tree.digest.value).toBe(8972839925n)
  expect(mismatches).toEqual([])
  expect([db.lastZxid, db.sessions.get(sessionId)]).toEqual([0x100000002n, 10_000])
})

test('a digest mismatch is reported', () => {
  const db = freshDatabase()
  const mismatches: DigestMismatch[] = []
  db.digests.onMismatch = (mismatch) => mismatches.push(mismatch)
  const wrong = Uint8Array.from(createOfA)
  wrong[wrong.length - 1]! ^= 1
  db.replay(new Reader(wrong))
  expect(mismatches).toEqual([
    { zxid: 0x100000002n, expected: 8972839925n ^ 1n, actual: 8972839925n },
  ])
})

test('a digest mismatch during loading is reported to the database that takes over', () => {
  const loaded = freshDatabase()
  const wrong = Uint8Array.from(createOfA)
  wrong[wrong.length - 1]! ^= 1
  loaded.replay(new Reader(wrong))
  expect(loaded.digests.unreported).toMatchObject({ zxid: 0x100000002n, actual: 8972839925n })
  const db = freshDatabase()
  const mismatches: DigestMismatch[] = []
  db.digests.onMismatch = (mismatch) => mismatches.push(mismatch)
  db.adopt(loaded)
  expect(mismatches).toEqual([loaded.digests.unreported])
})

describe('a snapshot whose digest was recorded while the next transaction was being applied', () => {
  const before = { zxid: 0x100000001n, expected: 1371985504n, actual: 8972839925n }

  function fuzzyDatabase(digest = before.expected): Database {
    const db = freshDatabase()
    db.replay(new Reader(createOfA))
    db.digest(before.zxid, 2, digest)
    return db
  }

  test('matches once that transaction is replayed', () => {
    const db = fuzzyDatabase()
    db.replay(new Reader(sessionStart))
    db.replay(new Reader(createOfA))
    db.finishLoading()
    expect(db.digests.unreported).toBeUndefined()
  })

  test('is reported if that transaction does not resolve the mismatch', () => {
    const wrong = Uint8Array.from(createOfA)
    wrong[wrong.length - 1]! ^= 1
    const db = fuzzyDatabase()
    db.replay(new Reader(sessionStart))
    db.replay(new Reader(wrong))
    expect(db.digests.unreported).toEqual(before)
  })

  test('is reported if there is no such transaction', () => {
    const db = fuzzyDatabase()
    db.replay(new Reader(sessionStart))
    expect(db.digests.unreported).toBeUndefined()
    db.finishLoading()
    expect(db.digests.unreported).toEqual(before)
  })

  test('is reported if the log has another digest for the state before', () => {
    const db = fuzzyDatabase(5n)
    db.replay(new Reader(sessionStart))
    expect(db.digests.unreported).toEqual({ ...before, expected: 5n })
  })
})

describe('a tree that was sent while it changed', () => {
  const create = (db: Database, zxid: bigint, path: string): void => {
    const body = { path, data: null, acl: open, ephemeral: false, parentCVersion: 1 }
    db.apply({ clientId: 1n, cxid: 1, zxid, time: 1n, type: 1 }, { type: 1, body })
  }

  test('has no digest to compare or log before it is exact', () => {
    const db = freshDatabase()
    const mismatches: DigestMismatch[] = []
    db.digests.onMismatch = (mismatch) => mismatches.push(mismatch)
    db.isExact = false
    create(db, 0x100000080n, '/a')
    db.digests.check(0x100000080n, 1n)
    expect([db.digests.log, mismatches]).toEqual([[], []])
    db.isExact = true
    create(db, 0x100000100n, '/b')
    db.digests.check(0x100000100n, 1n)
    expect(db.digests.log.map(({ zxid }) => zxid)).toEqual([0x100000100n])
    expect(mismatches.map(({ zxid }) => zxid)).toEqual([0x100000100n])
  })

  test('replaces another tree, and brings its own digests', () => {
    const db = freshDatabase()
    create(db, 0x100000080n, '/undone')
    const other = freshDatabase()
    other.isExact = false
    create(other, 0x100000080n, '/sent')
    db.adopt(other)
    expect(db).toMatchObject({ isExact: false, lastZxid: 0x100000080n })
    expect(db.digests.log).toEqual([])
  })

  test('is complete at its last transaction, although an epoch has begun since', () => {
    const db = freshDatabase()
    create(db, 0x100000001n, '/a')
    const source = db.snapshotSource()
    create(db, 0x100000002n, '/b')
    db.advance(0x200000000n)
    expect(source.finish().zxid).toBe(0x100000002n)
    source.release()
    expect(db.snapshotSource().finish().zxid).toBe(0x200000000n)
  })
})

test('the digest is logged after every 128th transaction, not at the start of an epoch', () => {
  const db = freshDatabase()
  for (const zxid of [1n, 128n, 0x100000000n, 0x100000080n]) db.advance(zxid)
  expect(db.digests.log.map(({ zxid }) => zxid)).toEqual([128n, 0x100000080n])
})

test('transactions that change nothing do not change the digest', () => {
  const db = freshDatabase()
  const { value } = db.tree.digest
  const txns: Txn[] = [
    { type: -10, body: { timeOut: 1 } },
    { type: -1, body: { err: -101 } },
    { type: -11, body: { paths2Delete: [] } },
    { type: 16, body: { path: '/zookeeper/config', data: encodeText('server.1'), version: -1 } },
    {
      type: 14,
      body: {
        txns: [
          { type: 2, body: { path: '/zookeeper' } },
          { type: -1, body: { err: -2 } },
        ],
      },
    },
  ]
  for (const [i, txn] of txns.entries()) {
    db.apply({ clientId: 1n, cxid: 0, zxid: BigInt(i + 1), time: 1n, type: txn.type }, txn)
    expect(db.tree.digest.value, `transaction of type ${txn.type}`).toBe(value)
  }
})

// --- the projection ------------------------------------------------------------------------------

type Change = ['create' | 'ephemeral' | 'delete' | 'setData' | 'setAcl', string, string]
type Step = Change | ['close'] | ['multi', Change, Change]

const path = fc.constantFrom<string>('/a', '/a/b', '/a/b/c', '/é', '/zookeeper/x', '/a/e')
const anyChange: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom('create', 'create', 'ephemeral', 'delete', 'setData', 'setAcl'),
  path,
  fc.string({ maxLength: 6 }),
)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: anyChange },
  { weight: 4, arbitrary: fc.tuple(fc.constant('multi'), anyChange, anyChange) },
  { weight: 1, arbitrary: fc.constant<['close']>(['close']) },
)

function prepare(step: Step, p: Preparation): Txn | number {
  if (step[0] === 'close') return closeSession.prepare({ sessionId }, p)
  if (step[0] !== 'multi') return prepareChange(step, p)
  const [, ...changes] = step
  return prepareAll(changes, p)
}

/** Prepares all or nothing, as `prepareMulti` does. A multi cannot contain a change of an ACL. */
function prepareAll(changes: readonly Change[], p: Preparation): Txn | number {
  const txns: SimpleTxn[] = []
  let refusal = 0
  p.projection.attempt(() => {
    for (const change of changes) {
      const txn = prepareChange(change, p)
      if (typeof txn === 'number') refusal = txn
      else txns.push(txn)
    }
    return refusal === 0
  })
  return refusal === 0 ? { type: 14, body: { txns } } : refusal
}

function prepareChange([what, at, text]: Change, p: Preparation): Prepared {
  const data = text === '' ? null : encodeText(text)
  if (what === 'delete') return deleteNode.prepare({ path: at, version: -1 }, p)
  if (what === 'setData') return setData.prepare({ path: at, data, version: -1 }, p)
  if (what === 'setAcl') return setAcl.prepare({ path: at, acl: open, version: -1 }, p)
  const flags = what === 'ephemeral' ? 1 : 0
  return prepareCreate(1, { path: at, data, acl: open, flags }, p)
}

test('as in Apache, the configuration has the time of its storing and is not in the digest', () => {
  const db = freshDatabase()
  const { value } = db.tree.digest
  db.setConfig(encodeText('server.1'), 7n, 1700000000000)
  const id = db.tree.find('/zookeeper/config')
  expect(db.tree.mtime(id)).toBe(1700000000000n)
  expect(db.tree.digest.value).toBe(value)
})

test('the projection predicts the digest of the tree, however far it is ahead', () => {
  const steps = fc.array(fc.tuple(anyStep, fc.integer({ min: 0, max: 3 })), { maxLength: 50 })
  fc.assert(
    fc.property(steps, (all) => {
      const db = freshDatabase()
      const projection = new Projection(db)
      const keeper = new ByteKeeper()
      const rules = { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true }
      const caller = { sessionId, identities: [] }
      const pending: { header: TxnHeader; txn: Txn; digest: bigint; staged: number }[] = []
      const applyOne = (): void => {
        const { header, txn, digest, staged } = pending.shift()!
        const writer = new Writer()
        writeTxnBody(writer, txn)
        db.apply(header, readTxnBody(new Reader(writer.written()), txn.type))
        projection.retire(staged)
        expect(db.tree.digest.value, `after a transaction of type ${txn.type}`).toBe(digest)
      }
      let zxid = 0n
      for (const [each, applies] of all) {
        zxid++
        const time = 1000n + zxid
        const txn = prepare(each, { db, projection, rules, caller, zxid, time, keeper })
        if (typeof txn !== 'number') {
          const header = { clientId: sessionId, cxid: 1, zxid, time, type: txn.type }
          pending.push({
            header,
            txn,
            digest: projection.digest.value,
            staged: projection.countStaged(),
          })
        }
        for (let i = 0; i < applies && pending.length > 0; i++) applyOne()
      }
      while (pending.length > 0) applyOne()
      expect(projection.isEmpty).toBe(true)
      expect(projection.digest.value).toBe(db.tree.digest.value)
    }),
    { numRuns: 2000 },
  )
})
