import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode } from './codec.ts'
import { MalformedError } from './malformed.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'
import { TxnDigest } from './records/transaction.ts'
import { readTxnBody, writeTxnBody, type SimpleTxn, type Txn } from './transactions.ts'

const text = fc.string({ unit: 'binary', maxLength: 12 })
const path = text.map((name) => `/${name}`)
const data = fc.option(fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)))
const acl = fc.option(
  fc.array(
    fc.record(
      { perms: fc.integer(), id: fc.record({ scheme: fc.option(text), id: fc.option(text) }) },
      { noNullPrototype: true },
    ),
    { maxLength: 3 },
  ),
)
const int = fc.integer()
const long = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })

const created = fc.record({ path, data, acl, ephemeral: fc.boolean(), parentCVersion: int })
const simpleTxn: fc.Arbitrary<SimpleTxn> = fc.oneof(
  fc.record({ type: fc.constantFrom(1 as const, 15 as const), body: created }),
  fc.record({ type: fc.constantFrom(2 as const, 20 as const), body: fc.record({ path }) }),
  fc.record({
    type: fc.constantFrom(5 as const, 16 as const),
    body: fc.record({ path, data, version: int }),
  }),
  fc.record({ type: fc.constant(7 as const), body: fc.record({ path, acl, version: int }) }),
  fc.record({ type: fc.constant(13 as const), body: fc.record({ path, version: int }) }),
  fc.record({
    type: fc.constant(19 as const),
    body: fc.record({ path, data, acl, parentCVersion: int }),
  }),
  fc.record({
    type: fc.constant(21 as const),
    body: fc.record({ path, data, acl, parentCVersion: int, ttl: long }),
  }),
  fc.record({ type: fc.constant(-1 as const), body: fc.record({ err: int }) }),
  fc.record({ type: fc.constant(-10 as const), body: fc.record({ timeOut: int }) }),
  fc.record({
    type: fc.constant(-11 as const),
    body: fc.record({ paths2Delete: fc.array(path, { maxLength: 3 }) }),
  }),
)
const anyTxn: fc.Arbitrary<Txn> = fc.oneof(
  simpleTxn,
  fc.record({
    type: fc.constant(14 as const),
    body: fc.record({ txns: fc.array(simpleTxn, { maxLength: 4 }) }),
  }),
)

function bodyOf(txn: Txn): Uint8Array {
  const writer = new Writer()
  writeTxnBody(writer, txn)
  return writer.written()
}

const hexBody = (txn: Txn): string => Buffer.from(bodyOf(txn)).toString('hex')

test('every transaction survives a round trip, and bytes after it are left to the reader', () => {
  const digest = encode(TxnDigest, { version: 2, treeDigest: 7n })
  fc.assert(
    fc.property(anyTxn, (txn) => {
      const reader = new Reader(Buffer.concat([bodyOf(txn), digest]))
      const read = readTxnBody(reader, txn.type)
      expect(hexBody(read)).toBe(hexBody(txn))
      expect(read).toEqual(normal(txn))
      expect(TxnDigest.read(reader)).toEqual({ version: 2, treeDigest: 7n })
    }),
    { numRuns: 300 },
  )
})

test('a transaction cut short is malformed', () => {
  fc.assert(
    fc.property(anyTxn, (txn) => {
      const bytes = bodyOf(txn)
      const isCreate = txn.type === 1 || txn.type === 15
      for (let end = 0; end < bytes.length; end++) {
        if (isCreate && end === bytes.length - 4) continue
        // An empty rest, or one that looks like a digest alone, is a closeSession without a list.
        if (txn.type === -11 && (end === 0 || end === 12)) continue
        const cut = new Reader(bytes.slice(0, end))
        expect(() => readTxnBody(cut, txn.type), `cut at ${end}`).toThrow(MalformedError)
      }
    }),
    { numRuns: 100 },
  )
})

/** fast-check makes objects without a prototype; decoded ones have one. */
function normal<T>(value: T): T {
  if (value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(normal) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value as object).map(([name, field]) => [name, normal(field)]),
  ) as T
}

test('a create of a release before 3.4 lacks the counter of the parent', () => {
  const txn: Txn = {
    type: 1,
    body: { path: '/a', data: null, acl: [], ephemeral: false, parentCVersion: 9 },
  }
  const bytes = bodyOf(txn)
  const old = new Reader(bytes.subarray(0, bytes.length - 4))
  expect(readTxnBody(old, 1)).toEqual({ type: 1, body: { ...txn.body, parentCVersion: -1 } })
})

test('a closeSession without a list deletes whatever the session owns', () => {
  const bare = { type: -11, body: { paths2Delete: undefined } } as const
  expect(bodyOf(bare)).toHaveLength(0)
  expect(readTxnBody(new Reader(), -11)).toEqual(bare)
  const digest = encode(TxnDigest, { version: 2, treeDigest: 1371985504n })
  const reader = new Reader(digest)
  expect(readTxnBody(reader, -11)).toEqual(bare)
  expect(reader.remaining).toBe(12)
})

test('a closeSession with an empty list deletes nothing, with or without a digest', () => {
  const empty = { type: -11, body: { paths2Delete: [] } } as const
  expect(readTxnBody(new Reader(bodyOf({ type: -11, body: { paths2Delete: [] } })), -11)).toEqual(
    empty,
  )
  const digest = encode(TxnDigest, { version: 2, treeDigest: 1n })
  expect(readTxnBody(new Reader(Buffer.concat([Buffer.alloc(4), digest])), -11)).toEqual(empty)
})

test('a closeSession that lists what is not a path is malformed: two empty ones look like a digest', () => {
  const bytes = bodyOf({ type: -11, body: { paths2Delete: ['', ''] } })
  expect(bytes).toHaveLength(12)
  expect(() => readTxnBody(new Reader(Buffer.concat([bytes, bytes])), -11)).toThrow(MalformedError)
})

test('unknown transactions, and unknown or missing parts of a multi, are malformed', () => {
  const unhex = (hex: string): Reader => new Reader(Buffer.from(hex, 'hex'))
  expect(() => readTxnBody(unhex('00000000'), 99)).toThrow(MalformedError)
  expect(() => readTxnBody(unhex('000000010000006300000000'), 14)).toThrow(MalformedError)
  expect(() => readTxnBody(unhex('0000000100000002ffffffff'), 14)).toThrow(MalformedError)
  expect(() => readTxnBody(unhex('0000000100000002fffffffe'), 14)).toThrow(MalformedError)
  // With nested multis a small record could claim any depth.
  expect(() => readTxnBody(unhex('000000010000000e0000000400000000'), 14)).toThrow(MalformedError)
  expect(() => readTxnBody(unhex('7fffffff00000002'), 14)).toThrow(MalformedError)
})
