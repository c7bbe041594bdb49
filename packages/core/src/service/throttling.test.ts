/** Connections and requests that are too many, too large, or too late. */
import { codes, errorCodes, Reader, ReplyHeader } from '@zabra/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { Database } from '../state/database.ts'
import { Peer } from '../peer/peer.ts'
import type { PeerOptions } from '../peer/peer-base.ts'
import { frame, handshake, idleLink, send } from '../../test/support/frames.ts'
import type { ClientConnection } from './connection.ts'

const timeoutMs = 4000
let nowMs: number

beforeEach(() => {
  nowMs = 0
})

function peerWith(options: Partial<PeerOptions>): Peer {
  const acl = { skipAcl: true, schemes: new Set<string>() }
  const db = new Database({ extendedTypes: false, digests: false, hashSeed: 1, acl })
  db.createSystemNodes()
  return new Peer(
    db,
    {
      serverId: 1,
      tickMs: 1000,
      sessionTimeoutMsMin: 1000,
      sessionTimeoutMsMax: 20_000,
      outstandingMax: 100,
      frameBytesMax: 100_000,
      sessionlessTimeoutMs: 5000,
      requiredSchemes: [],
      rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
      reclaim: { checkIntervalMs: 60_000, perMinuteMax: 1, neverUsedMsMax: 0 },
      ...options,
    },
    { authenticator: { schemes: new Set(), authenticate: () => undefined }, trace: () => {} },
    { nowMs, wallMs: 1_700_000_000_000 },
  )
}

function createFrame(xid: number, path: string, bytes = 0): Uint8Array {
  return frame((writer) => {
    writer.int(xid)
    writer.int(codes.create)
    writer.ustring(path)
    writer.buffer(new Uint8Array(bytes))
    writer.int(1)
    writer.int(31)
    writer.ustring('world')
    writer.ustring('anyone')
    writer.int(0)
  })
}

function commitAll(peer: Peer): void {
  peer.setTime(nowMs, nowMs)
  while (peer.hasBatch) peer.logged(peer.batches.take())
}

function connect(peer: Peer): ClientConnection {
  const connection = peer.open(idleLink)
  send(peer, connection, handshake(timeoutMs))
  commitAll(peer)
  connection.out.reset()
  return connection
}

/** The errors of the replies in a connection's output, by xid. */
function replies({ out }: ClientConnection): Record<number, number> {
  const found: Record<number, number> = {}
  const reader = new Reader(out.bytes, 0, out.position)
  while (reader.remaining > 0) {
    const end = reader.int() + reader.position
    const { xid, err } = ReplyHeader.read(reader)
    found[xid] = err
    reader.position = end
  }
  return found
}

test('beyond the bucket of tokens connections are closed unanswered, until it is refilled', () => {
  const rates = { fillMs: 1000, fillCount: 1, freezeMs: -1 }
  const drops = { dropIncrease: 0, dropDecrease: 0, decreaseRatio: 0, random: () => 0 }
  const peer = peerWith({ connectionThrottle: { tokens: 2, ...rates, ...drops } })
  expect([connect(peer).state, connect(peer).state]).toEqual(['open', 'open'])
  expect(connect(peer).state).toBe('closed')
  expect(peer.stats).toMatchObject({ connectionsRejected: 1, connectionRequests: 2 })
  expect(peer.stats.tokenDeficit).toMatchObject({ count: 2, max: 2 })
  nowMs = 1500
  peer.setTime(nowMs, nowMs)
  expect(connect(peer).state).toBe('open')
})

describe('while a session is begun', () => {
  let did: string[]
  const watched = {
    ...idleLink,
    pause: () => did.push('pause'),
    resume: () => did.push('resume'),
  }

  beforeEach(() => {
    did = []
  })

  test('a client that waits for it is read from all the time', () => {
    const peer = peerWith({})
    const connection = peer.open(watched)
    send(peer, connection, handshake(timeoutMs))
    expect(did).toEqual([])
    commitAll(peer)
    expect(connection.state).toBe('open')
    expect(did).not.toContain('pause')
  })

  test('one that does not is read from no further, and heard afterwards', () => {
    const peer = peerWith({})
    const connection = peer.open(watched)
    send(peer, connection, handshake(timeoutMs))
    send(peer, connection, createFrame(1, '/a'))
    expect(did).toEqual(['pause'])
    commitAll(peer)
    expect(did).toEqual(['pause', 'resume'])
    expect(peer.db.tree.find('/a')).not.toBe(0)
  })

  test('one that leaves costs nothing but its session', () => {
    const peer = peerWith({})
    const connection = peer.open(watched)
    send(peer, connection, handshake(timeoutMs))
    peer.closed(connection)
    commitAll(peer)
    expect(connection.state).toBe('closed')
    expect(connection.out.position).toBe(0)
    expect([...peer.db.sessions.keys()]).toHaveLength(1)
    nowMs += 2 * timeoutMs
    peer.setTime(nowMs, nowMs)
    peer.tick()
    commitAll(peer)
    expect([...peer.db.sessions.keys()]).toHaveLength(0)
  })
})

describe('large requests', () => {
  const largeRequests = { threshold: 1000, bytesMax: 5000 }

  test('are served as long as they fit together', () => {
    const peer = peerWith({ largeRequests })
    const connection = connect(peer)
    send(peer, connection, createFrame(1, '/a', 2000), createFrame(2, '/b', 2000))
    commitAll(peer)
    expect(replies(connection)).toEqual({ 1: 0, 2: 0 })
    // Answered requests no longer count.
    send(peer, connection, createFrame(3, '/c', 4000), createFrame(4, '/d', 500))
    commitAll(peer)
    expect(replies(connection)).toMatchObject({ 3: 0, 4: 0 })
  })

  test('cost their connection where they do not, and those of others go on', () => {
    const peer = peerWith({ largeRequests })
    const [first, second] = [connect(peer), connect(peer)]
    send(peer, first, createFrame(1, '/a', 3000))
    send(peer, second, createFrame(1, '/b', 3000))
    expect(second.state).toBe('closed')
    expect(peer.stats.largeRequestsRejected).toBe(1)
    commitAll(peer)
    expect(replies(first)).toEqual({ 1: 0 })
  })

  test('are refused as soon as their length is known', () => {
    const peer = peerWith({ largeRequests })
    const connection = connect(peer)
    send(peer, connection, createFrame(1, '/a', 6000).subarray(0, 20))
    expect(connection.state).toBe('closed')
  })

  test('of a connection that is gone count no more', () => {
    const peer = peerWith({ largeRequests })
    const [first, second] = [connect(peer), connect(peer)]
    send(peer, first, createFrame(1, '/a', 3000))
    peer.closed(first)
    send(peer, second, createFrame(1, '/b', 3000))
    commitAll(peer)
    expect(replies(second)).toEqual({ 1: 0 })
  })
})

describe('a request that has to wait because too many are in flight', () => {
  const waiting = { staleAfterTimeout: false, dropStale: true, refuseAfterMs: 0 }

  function wait(options: Partial<typeof waiting>, ms: number): [Peer, ClientConnection] {
    const peer = peerWith({ outstandingMax: 1, waiting: { ...waiting, ...options } })
    const connection = connect(peer)
    send(peer, connection, createFrame(1, '/a'), createFrame(2, '/b'), createFrame(3, '/c'))
    nowMs = ms
    commitAll(peer)
    return [peer, connection]
  }

  test('goes on as soon as there is room', () => {
    const [peer, connection] = wait({}, 100_000)
    expect(replies(connection)).toEqual({ 1: 0, 2: 0, 3: 0 })
    expect(peer.stats.throttleWaits).toBe(1)
  })

  test('is refused after the time that is allowed for it', () => {
    const [peer, connection] = wait({ refuseAfterMs: 500 }, 501)
    expect(replies(connection)).toEqual({ 1: 0, 2: 0, 3: errorCodes.throttledOp })
    expect(peer.stats.throttledOps).toBe(1)
    expect(replies(wait({ refuseAfterMs: 500 }, 500)[1])).toEqual({ 1: 0, 2: 0, 3: 0 })
  })

  test('costs its connection when its session would have expired meanwhile', () => {
    const [peer, connection] = wait({ staleAfterTimeout: true }, timeoutMs + 1)
    expect(connection.state).toBe('closed')
    expect(peer.stats.staleRequestsDropped).toBe(1)
    expect(peer.db.tree.find('/c')).toBe(0)
  })

  test('is only counted then, where it is not to be dropped', () => {
    const [peer, connection] = wait({ staleAfterTimeout: true, dropStale: false }, timeoutMs + 1)
    expect(replies(connection)).toEqual({ 1: 0, 2: 0, 3: 0 })
    expect(peer.stats).toMatchObject({ staleRequests: 1, staleRequestsDropped: 0 })
  })
})
