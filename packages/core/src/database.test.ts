/** The digest of the tree, as captured from Apache and as recomputed by whoever prepares. */
import {
  encodeText,
  readTxnBody,
  Reader,
  TxnDigest,
  TxnHeader,
  Writer,
  writeTxnBody,
  type Txn,
} from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Database, type DigestMismatch } from './database.ts'
import { prepareCreate } from './operations/create.ts'
import { prepareDelete } from './operations/delete.ts'
import type { Preparation, Prepared } from './operations/preparation.ts'
import { prepareCloseSession } from './operations/sessions.ts'
import { prepareSetAcl } from './operations/set-acl.ts'
import { prepareSetData } from './operations/set-data.ts'
import { Projection } from './pipeline/projection.ts'
import { adler32 } from './storage/checksum.ts'

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

test('the digest of an empty tree is the one that Apache has', () => {
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
const first = logged(
  { clientId: sessionId, cxid: 0, zxid: 0x100000001n, time: 0x1a1ddffab61n, type: -10 },
  { type: -10, body: { timeOut: 10_000 } },
  1371985504n,
)
const second = logged(
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

test('captured transactions are the bytes whose checksums the log holds', () => {
  expect(first).toHaveLength(48)
  expect(adler32(first)).toBe(0xdb920b49)
  expect(second).toHaveLength(91)
  expect(adler32(second)).toBe(0x61bd0f02)
})

test('replaying captured transactions gives the digests that Apache logged', () => {
  const db = freshDatabase()
  const mismatches: DigestMismatch[] = []
  db.onDigestMismatch = (mismatch) => mismatches.push(mismatch)
  db.replay(new Reader(first))
  expect(db.tree.digest.value).toBe(1371985504n)
  db.replay(new Reader(second))
  expect(db.tree.digest.value).toBe(8972839925n)
  expect(mismatches).toEqual([])
  expect([db.lastZxid, db.sessions.get(sessionId)]).toEqual([0x100000002n, 10_000])
})

test('a digest that differs is noticed', () => {
  const db = freshDatabase()
  const mismatches: DigestMismatch[] = []
  db.onDigestMismatch = (mismatch) => mismatches.push(mismatch)
  const wrong = second.slice()
  wrong[wrong.length - 1]! ^= 1
  db.replay(new Reader(wrong))
  expect(mismatches).toEqual([
    { zxid: 0x100000002n, expected: 8972839925n ^ 1n, actual: 8972839925n },
  ])
})

test('transactions that change nothing leave the digest alone', () => {
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

type Step = ['create' | 'ephemeral' | 'delete' | 'setData' | 'setAcl', string, string] | ['close']

const path = fc.constantFrom('/a', '/a/b', '/a/b/c', '/é', '/zookeeper/x', '/a/e')
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.tuple(
      fc.constantFrom('create', 'create', 'ephemeral', 'delete', 'setData', 'setAcl'),
      path,
      fc.string({ maxLength: 6 }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<['close']>(['close']) },
)

function prepare(step: Step, p: Preparation): Prepared {
  const [what, at, text] = step
  if (what === 'close') return prepareCloseSession(sessionId, p)
  const data = text === '' ? null : encodeText(text!)
  if (what === 'delete') return prepareDelete({ path: at!, version: -1 }, p)
  if (what === 'setData') return prepareSetData({ path: at!, data, version: -1 }, p)
  if (what === 'setAcl') return prepareSetAcl({ path: at!, acl: open, version: -1 }, p)
  const flags = what === 'ephemeral' ? 1 : 0
  return prepareCreate(1, { path: at!, data, acl: open, flags }, p)
}

test('what is prepared ahead of the tree foresees its digest, however far it is ahead', () => {
  const steps = fc.array(fc.tuple(anyStep, fc.integer({ min: 0, max: 3 })), { maxLength: 50 })
  fc.assert(
    fc.property(steps, (all) => {
      const db = freshDatabase()
      const projection = new Projection(db)
      const rules = { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true }
      const caller = { sessionId, identities: [] }
      const pending: { header: TxnHeader; txn: Txn; digest: bigint }[] = []
      const applyOne = (): void => {
        const { header, txn, digest } = pending.shift()!
        const writer = new Writer()
        writeTxnBody(writer, txn)
        db.apply(header, readTxnBody(new Reader(writer.written()), txn.type))
        projection.retire(header.zxid)
        expect(db.tree.digest.value, `after a transaction of type ${txn.type}`).toBe(digest)
      }
      let zxid = 0n
      for (const [each, applies] of all) {
        zxid++
        const time = 1000n + zxid
        const txn = prepare(each, { db, projection, rules, caller, zxid, time })
        if (typeof txn !== 'number') {
          const header = { clientId: sessionId, cxid: 1, zxid, time, type: txn.type }
          pending.push({ header, txn, digest: projection.digest.value })
        }
        for (let i = 0; i < applies && pending.length > 0; i++) applyOne()
      }
      while (pending.length > 0) applyOne()
      expect(projection.isEmpty).toBe(true)
      expect(projection.digest.value).toBe(db.tree.digest.value)
    }),
    { numRuns: 150 },
  )
})
