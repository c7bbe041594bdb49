/** Frames and records as Apache's clients and servers send and store them, byte for byte. */
import { expect, test } from 'vitest'
import { xids } from '../codes.ts'
import { decode, encode, type Codec } from '../codec.ts'
import { Reader } from '../reader.ts'
import { Writer } from '../writer.ts'
import { operations } from '../operations.ts'
import * as client from './client.ts'
import { MultiRequest, MultiResponse } from '../lists.ts'
import { FileHeader, fileVersion, logMagic, snapshotMagic } from './storage.ts'
import { readTxnBody, writeTxnBody } from '../transactions.ts'
import { TxnDigest, TxnHeader } from './transaction.ts'

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const zeros = '00000000000000000000000000000000'

interface Part {
  readonly codec: Codec<unknown>
  readonly value: unknown
}
const part = <T>(codec: Codec<T>, value: T): Part => ({ codec: codec as Codec<unknown>, value })
const request = (xid: number, type: number): Part => part(client.RequestHeader, { xid, type })
const reply = (xid: number, zxid: bigint, err = 0): Part =>
  part(client.ReplyHeader, { xid, zxid, err })

const frames: [what: string, hex: string, ...parts: Part[]][] = [
  [
    'a handshake for a new session',
    `0000002d 00000000 0000000000000000 00007530 0000000000000000 00000010 ${zeros} 00`,
    part(client.ConnectRequest, {
      protocolVersion: 0,
      lastZxidSeen: 0n,
      timeOut: 30000,
      sessionId: 0n,
      passwd: unhex(zeros),
      readOnly: false,
    }),
  ],
  [
    'a handshake of a client that does not know read-only mode',
    `0000002c 00000000 0000000000000000 00007530 0000000000000000 00000010 ${zeros}`,
    part(client.ConnectRequest, {
      protocolVersion: 0,
      lastZxidSeen: 0n,
      timeOut: 30000,
      sessionId: 0n,
      passwd: unhex(zeros),
      readOnly: undefined,
    }),
  ],
  [
    'the answer to a handshake',
    '00000025 00000000 00007530 0100000b044b0000 00000010 37c5c753f89387746d9c4b8d01d1d967 00',
    part(client.ConnectResponse, {
      protocolVersion: 0,
      timeOut: 30000,
      sessionId: 0x0100000b044b0000n,
      passwd: unhex('37c5c753f89387746d9c4b8d01d1d967'),
      readOnly: false,
    }),
  ],
  [
    'the answer of a read-only server',
    '00000025 00000000 00007530 01000018a9710000 00000010 f583d254de7ea1285b4467855725e817 01',
    part(client.ConnectResponse, {
      protocolVersion: 0,
      timeOut: 30000,
      sessionId: 0x01000018a9710000n,
      passwd: unhex('f583d254de7ea1285b4467855725e817'),
      readOnly: true,
    }),
  ],
  [
    'the answer to a session that is over',
    `00000025 00000000 00000000 0000000000000000 00000010 ${zeros} 00`,
    part(client.ConnectResponse, {
      protocolVersion: 0,
      timeOut: 0,
      sessionId: 0n,
      passwd: unhex(zeros),
      readOnly: false,
    }),
  ],
  ['a ping', '00000008 fffffffe 0000000b', request(xids.ping, operations.ping.code)],
  ['the answer to a ping', '00000010 fffffffe 000000000000000b 00000000', reply(xids.ping, 0xbn)],
  [
    'a create',
    '00000032 00000001 00000001 00000002 2f61 00000001 78 00000001 0000001f ' +
      '00000005 776f726c64 00000006 616e796f6e65 00000000',
    request(1, operations.create.code),
    part(client.CreateRequest, {
      path: '/a',
      data: Buffer.from('x'),
      acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
      flags: 0,
    }),
  ],
  [
    'the answer to a create',
    '00000016 00000001 0000000000000016 00000000 00000002 2f61',
    reply(1, 0x16n),
    part(client.CreateResponse, { path: '/a' }),
  ],
  ['a refusal', '00000010 00000002 0000000000000017 ffffff92', reply(2, 0x17n, -110)],
  [
    'a getData with a watch',
    '0000000f 00000003 00000004 00000002 2f61 01',
    request(3, operations.getData.code),
    part(client.WatchableRequest, { path: '/a', watch: true }),
  ],
  [
    'a notification',
    '0000001e ffffffff 0000000000000048 00000000 00000003 00000003 00000002 2f61',
    reply(xids.notification, 0x48n),
    part(client.WatcherEvent, { type: 3, state: 3, path: '/a' }),
  ],
  [
    'a notification of a 3.8 server',
    '0000001e ffffffff ffffffffffffffff 00000000 00000003 00000003 00000002 2f61',
    reply(xids.notification, -1n),
    part(client.WatcherEvent, { type: 3, state: 3, path: '/a' }),
  ],
  [
    'an auth packet',
    '00000020 fffffffc 00000064 00000000 00000006 646967657374 00000006 626f623a7077',
    request(xids.auth, operations.auth.code),
    part(client.AuthPacket, { type: 0, scheme: 'digest', auth: Buffer.from('bob:pw') }),
  ],
  [
    'the answer to an auth packet',
    '00000010 fffffffc 0000000000000000 00000000',
    reply(xids.auth, 0n),
  ],
  [
    'a multi',
    '00000037 00000004 0000000e 0000000d 00 ffffffff 00000002 2f61 00000000 ' +
      '00000002 00 ffffffff 00000002 2f62 ffffffff ffffffff 01 ffffffff',
    request(4, operations.multi.code),
    part(MultiRequest, [
      { type: 13, request: { path: '/a', version: 0 } },
      { type: 2, request: { path: '/b', version: -1 } },
    ]),
  ],
  [
    'the answer to a multi whose second operation failed',
    '00000033 00000004 0000000000000020 00000000 ffffffff 00 00000000 00000000 ' +
      'ffffffff 00 ffffff9b ffffff9b ffffffff 01 ffffffff',
    reply(4, 0x20n),
    part(MultiResponse, [{ err: 0 }, { err: -101 }]),
  ],
  ['the end of a session', '00000008 00000005 fffffff5', request(5, operations.closeSession.code)],
]

test.each(frames)('%s is written and read byte for byte', (_what, hex, ...parts) => {
  const frame = unhex(hex)
  const writer = new Writer()
  writer.int(frame.length - 4)
  for (const { codec, value } of parts) codec.write(writer, value)
  expect(Buffer.from(writer.written()).toString('hex')).toBe(frame.toString('hex'))

  const reader = new Reader(frame)
  expect(reader.int()).toBe(frame.length - 4)
  for (const { codec, value } of parts) expect(codec.read(reader)).toEqual(value)
  expect(reader.remaining).toBe(0)
})

// --- stored --------------------------------------------------------------------------------------

test('files start with their magic', () => {
  expect(encode(FileHeader, { magic: logMagic, version: fileVersion, dbid: 0n })).toEqual(
    unhex('5a4b4c47 00000002 0000000000000000'),
  )
  expect(encode(FileHeader, { magic: snapshotMagic, version: fileVersion, dbid: -1n })).toEqual(
    unhex('5a4b534e 00000002 ffffffffffffffff'),
  )
})

test('the first transaction of a log: the start of a session', () => {
  const payload = unhex(
    `0100000ce84e0000 00000000 0000000100000001 000001a1ddffab61 fffffff6
     00002710
     00000002 0000000051c6d660`,
  )
  const reader = new Reader(payload)
  const header = TxnHeader.read(reader)
  expect(header).toEqual({
    clientId: 0x0100000ce84e0000n,
    cxid: 0,
    zxid: 0x100000001n,
    time: 0x1a1ddffab61n,
    type: -10,
  })
  const txn = readTxnBody(reader, header.type)
  expect(txn).toEqual({ type: -10, body: { timeOut: 10000 } })
  const digest = TxnDigest.read(reader)
  expect(digest).toEqual({ version: 2, treeDigest: 1371985504n })
  expect(reader.remaining).toBe(0)

  const writer = new Writer()
  TxnHeader.write(writer, header)
  writeTxnBody(writer, txn)
  TxnDigest.write(writer, digest)
  expect(Buffer.from(writer.written())).toEqual(payload)
})

test('a refused write is a header and an error, without a digest', () => {
  const writer = new Writer()
  TxnHeader.write(writer, { clientId: 1n, cxid: 1, zxid: 8n, time: 1n, type: -1 })
  writeTxnBody(writer, { type: -1, body: { err: -101 } })
  expect(writer.position).toBe(36)
  expect(decode(TxnHeader, writer.written()).type).toBe(-1)
})

test('in a refused multi, valid parts keep their body, the others are errors', () => {
  const create = '00000003 2f6d32 00000000 00000000 00 00000001'
  const length = (unhex(create).length >>> 0).toString(16).padStart(8, '0')
  const body = unhex(
    `00000003 00000001 ${length} ${create} ffffffff 00000004 ffffff99 ffffffff 00000004 fffffffe`,
  )
  const txn = readTxnBody(new Reader(body), 14)
  expect(txn).toEqual({
    type: 14,
    body: {
      txns: [
        {
          type: 1,
          body: {
            path: '/m2',
            data: Buffer.alloc(0),
            acl: [],
            ephemeral: false,
            parentCVersion: 1,
          },
        },
        { type: -1, body: { err: -103 } },
        { type: -1, body: { err: -2 } },
      ],
    },
  })
  const writer = new Writer()
  writeTxnBody(writer, txn)
  expect(Buffer.from(writer.written())).toEqual(body)
})
