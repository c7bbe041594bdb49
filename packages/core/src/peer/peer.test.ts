import {
  codes,
  AuthPacket,
  CreateRequest,
  encodeText,
  Reader,
  readTxnBody,
  SetDataRequest,
  TxnHeader,
  Writer,
  writeTxnBody,
  xids,
} from '@zabra/protocol'
import { expect, test } from 'vitest'
import { Database } from '../state/database.ts'
import type { ClientConnection } from '../service/connection.ts'
import { recordPrefixBytes, type LogBatch } from '../storage/log/log-batch.ts'
import { noNode } from '../state/tree/tree.ts'
import { handshake, idleLink, send } from '../../test/support/frames.ts'
import { Peer } from './peer.ts'

const schemes = new Set(['digest'])
const tickMs = 1000
const timeoutMs = 4000

function freshPeer(startLog = (): void => {}, digests = false): Peer {
  const db = new Database({
    extendedTypes: false,
    digests,
    hashSeed: 1,
    acl: { skipAcl: false, schemes },
  })
  db.createSystemNodes()
  return new Peer(
    db,
    {
      serverId: 1,
      tickMs,
      sessionTimeoutMsMin: tickMs,
      sessionTimeoutMsMax: 20 * tickMs,
      outstandingMax: 100,
      frameBytesMax: 2048,
      sessionlessTimeoutMs: 5000,
      requiredSchemes: [],
      rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
      reclaim: { checkIntervalMs: 60_000, perMinuteMax: 1, neverUsedMsMax: 0 },
    },
    {
      authenticator: { schemes, authenticate: (scheme) => [{ scheme, id: 'somebody' }] },
      trace: () => {},
      startLog,
    },
    { nowMs: 0, wallMs: 1_700_000_000_000 },
  )
}

function logAll(peer: Peer): void {
  while (peer.hasBatch) peer.logged(peer.batches.take())
}

function connect(peer: Peer): ClientConnection {
  const connection = peer.open(idleLink)
  send(peer, connection, handshake(timeoutMs))
  logAll(peer)
  return connection
}

test('a snapshot says which transactions it may contain, beyond the one it is named after', () => {
  const peer = freshPeer()
  connect(peer)
  const source = peer.db.snapshotSource()
  connect(peer)
  connect(peer)
  expect(source.zxid).toBe(1n)
  expect(source.finish().zxid).toBe(3n)
})

test('the log gets the first of many writes while the others are read', () => {
  const started: number[] = []
  const peer = freshPeer(() => started.push(peer.batches.take().records))
  const connection = connect(peer)
  const writes = Array.from({ length: 90 }, (_, i) => (writer: Writer) => {
    writer.int(i + 1)
    writer.int(codes.setData)
    SetDataRequest.write(writer, { path: '/zookeeper', data: null, version: -1 })
  })
  send(peer, connection, ...writes)
  expect(started).toEqual([64])
  expect(peer.batches.take().records).toBe(26)
})

const authenticate = (writer: Writer): void => {
  writer.int(xids.auth)
  writer.int(100)
  AuthPacket.write(writer, { type: 0, scheme: 'digest', auth: encodeText('a:b') })
}

/** A node for whoever the caller has proven to be. */
const createOwn =
  (xid: number, path: string) =>
  (writer: Writer): void => {
    writer.int(xid)
    writer.int(codes.create)
    const acl = [{ perms: 31, id: { scheme: 'auth', id: '' } }]
    CreateRequest.write(writer, { path, data: null, acl, flags: 0 })
  }

test('a write is decided by the identities it was sent with, and before later requests', () => {
  const peer = freshPeer()
  const connection = connect(peer)
  const close = (writer: Writer): void => {
    writer.int(3)
    writer.int(codes.closeSession)
  }
  send(peer, connection, createOwn(1, '/early'), authenticate, createOwn(2, '/late'), close)
  logAll(peer)
  const { tree, sessions } = peer.db
  expect([tree.find('/early'), tree.find('/late')]).toEqual([noNode, expect.any(Number)])
  expect(tree.find('/late')).not.toBe(noNode)
  expect(sessions.size).toBe(0)
})

/** The payloads of the records of a batch. */
function payloadsOf({ writer, records }: LogBatch): Uint8Array[] {
  const payloads: Uint8Array[] = []
  for (let at = 0; payloads.length < records;) {
    const start = at + recordPrefixBytes
    const end = start + writer.view.getInt32(start - 4)
    payloads.push(writer.bytes.slice(start, end))
    at = end + 1
  }
  return payloads
}

test('a create is logged as its transaction is written, and stored as it was sent', () => {
  const peer = freshPeer(undefined, true)
  const mismatches: unknown[] = []
  peer.db.digests.onMismatch = (mismatch) => mismatches.push(mismatch)
  const connection = connect(peer)
  const anyone = { perms: 31, id: { scheme: 'world', id: 'anyone' } }
  const reader = { perms: 1, id: { scheme: 'world', id: 'anyone' } }
  const own = { perms: 31, id: { scheme: 'auth', id: '' } }
  const long = new Uint8Array(500).map((_, i) => i)
  const asked = [
    { path: '/plain', made: '/plain', data: long.subarray(0, 100), acl: [anyone], flags: 0 },
    { path: '/long', made: '/long', data: long, acl: [reader], flags: 0 },
    { path: '/empty', made: '/empty', data: new Uint8Array(0), acl: [anyone], flags: 1 },
    { path: '/null', made: '/null', data: null, acl: [anyone], flags: 0 },
    { path: '/plain/s-', made: '/plain/s-0000000000', data: long, acl: [anyone], flags: 2 },
    { path: '/plain/é', made: '/plain/é', data: long.subarray(7), acl: [anyone], flags: 0 },
    { path: '/plain/own', made: '/plain/own', data: long.subarray(9), acl: [own], flags: 0 },
    { path: '/plain/two', made: '/plain/two', data: null, acl: [reader, anyone], flags: 0 },
  ]
  const creates = [codes.create, codes.create2].flatMap((type, round) =>
    asked.map((request, i) => (writer: Writer) => {
      writer.int(1 + i)
      writer.int(type)
      const below = round === 0 ? '' : '/null'
      CreateRequest.write(writer, { ...request, path: below + request.path })
    }),
  )
  send(peer, connection, authenticate, ...creates)
  const batch = peer.batches.take()
  const payloads = payloadsOf(batch)
  expect(payloads).toHaveLength(creates.length)
  for (const payload of payloads) {
    const logged = new Reader(payload)
    const header = TxnHeader.read(logged)
    const start = logged.position
    const txn = readTxnBody(logged, header.type)
    const written = new Writer()
    writeTxnBody(written, txn)
    expect([codes.create, codes.create2]).toContain(txn.type)
    expect(payload.subarray(start, logged.position)).toEqual(written.written())
  }
  peer.logged(batch)
  expect(mismatches).toEqual([])
  const { tree } = peer.db
  for (const { made, data } of [
    ...asked,
    ...asked.map((a) => ({ ...a, made: `/null${a.made}` })),
  ]) {
    expect(tree.data(tree.find(made)), made).toEqual(data)
  }
})

test('requests before a malformed frame are executed', () => {
  const peer = freshPeer()
  const connection = connect(peer)
  send(peer, connection, authenticate, createOwn(1, '/before'), (writer) => writer.int(2))
  logAll(peer)
  expect(connection.state).toBe('closed')
  expect(peer.db.tree.find('/before')).not.toBe(noNode)
})

test.each([
  ['proves its identity', authenticate],
  ['talks SASL', (writer: Writer) => [1, codes.sasl, 0].forEach((value) => writer.int(value))],
])('a client that only %s does not keep its session by that, as in Apache', (_, say) => {
  const peer = freshPeer()
  const connection = connect(peer)
  const liveUntil = (ms: number, frame: (writer: Writer) => void): void => {
    for (let now = peer.nowMs; now <= ms; now += tickMs / 2) {
      peer.setTime(now, 1_700_000_000_000 + now)
      if (connection.state === 'open') send(peer, connection, frame)
      peer.tick()
      logAll(peer)
    }
  }
  liveUntil(10 * timeoutMs, (writer) =>
    [xids.ping, codes.ping].forEach((value) => writer.int(value)),
  )
  expect(peer.db.sessions.size).toBe(1)
  liveUntil(12 * timeoutMs, say)
  expect(connection.state).toBe('closed')
  expect(peer.db.sessions.size).toBe(0)
})
