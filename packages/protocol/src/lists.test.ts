import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decode, encode } from './codec.ts'
import { MalformedError } from './malformed.ts'
import { Writer } from './writer.ts'
import type { Acl } from './records/common.ts'
import {
  isMultiWrite,
  MultiRequest,
  MultiResponse,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
  type MultiOp,
  type MultiResult,
} from './lists.ts'

const unhex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const path = fc.string({ unit: 'binary', maxLength: 10 }).map((name) => `/${name}`)
const data = fc.option(fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes)))
const acl = fc.constantFrom<Acl[] | null>(
  null,
  [],
  [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
)
const int = fc.integer()
const plain = { noNullPrototype: true } as const

const creation = fc.record({ path, data, acl, flags: int }, plain)
const writeOp: fc.Arbitrary<MultiOp> = fc.oneof(
  fc.record(
    { type: fc.constantFrom(1 as const, 15 as const, 19 as const), request: creation },
    plain,
  ),
  fc.record(
    {
      type: fc.constant(21 as const),
      request: fc.record(
        { path, data, acl, flags: int, ttl: fc.bigInt({ min: -1n, max: 1n << 40n }) },
        plain,
      ),
    },
    plain,
  ),
  fc.record(
    {
      type: fc.constantFrom(2 as const, 13 as const),
      request: fc.record({ path, version: int }, plain),
    },
    plain,
  ),
  fc.record(
    { type: fc.constant(5 as const), request: fc.record({ path, data, version: int }, plain) },
    plain,
  ),
)
const readOp: fc.Arbitrary<MultiOp> = fc.record(
  {
    type: fc.constantFrom(4 as const, 8 as const),
    request: fc.record({ path, watch: fc.boolean() }, plain),
  },
  plain,
)
const lists = fc.oneof(fc.array(writeOp, { maxLength: 5 }), fc.array(readOp, { maxLength: 5 }))

test('a list of operations survives a round trip', () => {
  fc.assert(
    fc.property(lists, (ops) => {
      expect(decode(MultiRequest, encode(MultiRequest, ops))).toEqual(ops)
    }),
  )
})

test('a list cut short anywhere is malformed', () => {
  fc.assert(
    fc.property(lists, (ops) => {
      const bytes = encode(MultiRequest, ops)
      for (let end = 0; end < bytes.length; end++) {
        expect(() => decode(MultiRequest, bytes.slice(0, end))).toThrow(MalformedError)
      }
    }),
    { numRuns: 30 },
  )
})

test('reads and writes do not mix', () => {
  fc.assert(
    fc.property(writeOp, readOp, fc.boolean(), (write, read, readFirst) => {
      expect(isMultiWrite(write)).toBe(true)
      expect(isMultiWrite(read)).toBe(false)
      const bytes = encode(MultiRequest, readFirst ? [read, write] : [write, read])
      expect(() => decode(MultiRequest, bytes)).toThrow(MalformedError)
    }),
    { numRuns: 30 },
  )
})

test.each([3, 6, 7, 9, 12, 14, 16, 20, 22, -1, 0, 1000])(
  'operation %i is not allowed in a multi',
  (type) => {
    const head = Buffer.alloc(9, 0)
    head.writeInt32BE(type)
    const bytes = Buffer.concat([head, unhex('00000002 2f61 00'), unhex('ffffffff 01 ffffffff')])
    expect(() => decode(MultiRequest, bytes)).toThrow(MalformedError)
  },
)

test('an empty list is only the end mark', () => {
  expect(hex(encode(MultiRequest, []))).toBe('ffffffff01ffffffff')
  expect(hex(encode(MultiResponse, []))).toBe('ffffffff01ffffffff')
  expect(decode(MultiRequest, unhex('ffffffff 01 ffffffff'))).toEqual([])
})

test('`done` ends the list, whatever its other fields', () => {
  expect(decode(MultiRequest, unhex('00000001 02 00000000'))).toEqual([])
})

test('an error appears twice in its result', () => {
  const results: MultiResult[] = [{ err: 0 }, { err: -101 }, { err: -2 }]
  const bytes = encode(MultiResponse, results)
  expect(hex(bytes)).toBe(
    'ffffffff0000000000' +
      '00000000' +
      'ffffffff00ffffff9b' +
      'ffffff9b' +
      'ffffffff00fffffffe' +
      'fffffffe' +
      'ffffffff01ffffffff',
  )
  expect(decode(MultiResponse, bytes)).toEqual(results)
})

const stat = {
  czxid: 1n,
  mzxid: 2n,
  ctime: 3n,
  mtime: 4n,
  version: 5,
  cversion: 6,
  aversion: 7,
  ephemeralOwner: 8n,
  dataLength: 9,
  numChildren: 10,
  pzxid: 11n,
}

test('each kind of result survives a round trip', () => {
  const results: MultiResult[] = [
    { err: 0, type: 1, response: { path: '/a' } },
    { err: 0, type: 15, response: { path: '/b', stat } },
    { err: 0, type: 2, response: {} },
    { err: 0, type: 5, response: { stat } },
    { err: 0, type: 13, response: {} },
    { err: 0, type: 4, response: { data: Buffer.from('x'), stat } },
    { err: 0, type: 8, response: { children: ['a', 'b'] } },
    { err: -101 },
  ]
  expect(decode(MultiResponse, encode(MultiResponse, results))).toEqual(results)
})

test('containers and TTL nodes answer like create2', () => {
  for (const type of [15, 19, 21] as const) {
    const writer = new Writer()
    writeMultiSuccess(writer, type)
    expect(hex(writer.written())).toBe('0000000f0000000000')
  }
})

test('results written one by one are the same as results written at once', () => {
  const writer = new Writer()
  writeMultiError(writer, -101)
  writeMultiEnd(writer)
  expect(hex(writer.written())).toBe(hex(encode(MultiResponse, [{ err: -101 }])))
})

test('a result kind that no multi returns is malformed', () => {
  expect(() => decode(MultiResponse, unhex('00000063 00 00000000'))).toThrow(MalformedError)
})
