import {
  AuthPacket,
  ConnectRequest,
  encodeText,
  SetDataRequest,
  Writer,
  xids,
} from '@zabra/protocol'
import { expect, test } from 'vitest'
import { Database } from '../database.ts'
import type { ClientConnection, ClientLink } from '../pipeline/connection.ts'
import { op } from '../pipeline/opcodes.ts'
import { Peer } from './peer.ts'

const schemes = new Set(['digest'])
const tickMs = 1000
const timeoutMs = 4000

function freshPeer(startLog = (): void => {}): Peer {
  const db = new Database({
    extendedTypes: false,
    digests: false,
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
      frameBytesMax: 1024,
      handshakeMsMax: 5000,
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

const link: ClientLink = {
  address: '127.0.0.1',
  unsentBytes: 0,
  flushSoon: () => {},
  close: () => {},
  pause: () => {},
  resume: () => {},
}

function send(peer: Peer, connection: ClientConnection, write: (writer: Writer) => void): void {
  const writer = new Writer()
  writer.int(0)
  write(writer)
  writer.intAt(0, writer.position - 4)
  peer.receive(connection, writer.written(), writer.position)
}

function logAll(peer: Peer): void {
  while (peer.hasBatch) peer.logged(peer.takeBatch())
}

function connect(peer: Peer): ClientConnection {
  const connection = peer.open(link)
  const request = {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeOut: timeoutMs,
    sessionId: 0n,
    passwd: new Uint8Array(16),
    readOnly: false,
  }
  send(peer, connection, (writer) => ConnectRequest.write(writer, request))
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

test('of many writes that come at once, the log gets the first while the others are read', () => {
  const started: number[] = []
  const peer = freshPeer(() => started.push(peer.takeBatch().records))
  const connection = connect(peer)
  const writes = new Writer()
  for (let xid = 1; xid <= 90; xid++) {
    const start = writes.position
    writes.int(0)
    writes.int(xid)
    writes.int(op.setData)
    SetDataRequest.write(writes, { path: '/zookeeper', data: null, version: -1 })
    writes.intAt(start, writes.position - start - 4)
  }
  peer.receive(connection, writes.written(), writes.position)
  expect(started).toEqual([64])
  expect(peer.takeBatch().records).toBe(26)
})

test('a client that only proves its identity for a while keeps its session', () => {
  const peer = freshPeer()
  const connection = connect(peer)
  const liveUntil = (ms: number, isHeard: boolean): void => {
    for (let now = peer.nowMs; now <= ms; now += tickMs / 2) {
      peer.setTime(now, 1_700_000_000_000 + now)
      if (isHeard) {
        send(peer, connection, (writer) => {
          writer.int(xids.auth)
          writer.int(100)
          AuthPacket.write(writer, { type: 0, scheme: 'digest', auth: encodeText('a:b') })
        })
      }
      peer.tick()
      logAll(peer)
    }
  }
  liveUntil(10 * timeoutMs, true)
  expect(peer.db.sessions.size).toBe(1)
  liveUntil(12 * timeoutMs, false)
  expect(peer.db.sessions.size).toBe(0)
})
