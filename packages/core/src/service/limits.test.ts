/** The memory and the work that one client can cause are bounded. */
import { addWatchModes, errorCodes, GetDataResponse, MultiResponse } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { LonePeer } from '../../test/support/lone-peer.ts'

const { ok, badArguments, quotaExceeded, authFailed } = errorCodes
const kilobyte = new Uint8Array(1000)
const getData = (path: string) => ({ type: 4, request: { path, watch: false } }) as const
const getChildren = (path: string) => ({ type: 8, request: { path, watch: false } }) as const
const digest = (auth: string) => ({ type: 0, scheme: 'digest', auth: Buffer.from(auth) })

test('a multiRead whose reply would be too long is refused before the reply is built', () => {
  const server = new LonePeer({ limits: { multiReadBytes: 10_000 } })
  const client = server.connect()
  client.create('/a', kilobyte)
  client.send(
    'multiRead',
    Array.from({ length: 9 }, () => getData('/a')),
  )
  const [fits] = client.take()
  expect([fits!.err, MultiResponse.read(fits!.body)]).toEqual([
    ok,
    expect.objectContaining({ length: 9 }),
  ])
  client.send(
    'multiRead',
    Array.from({ length: 5000 }, () => getData('/a')),
  )
  expect(client.connection.out.bytes.length).toBeLessThan(40_000)
  const [refused] = client.take()
  expect([refused!.err, MultiResponse.read(refused!.body)]).toEqual([badArguments, []])
  expect(server.peer.stats.limitsReached.multi_read_bytes).toBe(1)
  expect(client.connection.state).toBe('open')
})

test('lists of children count against the same bound', () => {
  const server = new LonePeer({ limits: { multiReadBytes: 10_000 } })
  const client = server.connect()
  for (let i = 0; i < 100; i++) client.create(`/child-${i}`)
  expect(client.call('multiRead', [getChildren('/')])).toBe(ok)
  const many = Array.from({ length: 1000 }, () => getChildren('/'))
  expect(client.call('multiRead', many)).toBe(badArguments)
})

test('reads that waited behind a write are answered as far as their client reads the answers', () => {
  const server = new LonePeer({ limits: { unreadBytes: 10_000 } })
  const client = server.connect()
  client.create('/a', kilobyte)
  client.send('setData', { path: '/a', data: kilobyte, version: -1 })
  for (let i = 0; i < 500; i++) client.send('getData', { path: '/a', watch: false })
  server.commit()
  expect(client.connection.out.position).toBeLessThan(12_000)
  expect(client.isPaused).toBe(true)
  let answered = 0
  for (let replies = client.take(); replies.length > 0; replies = client.take()) {
    expect(replies.every(({ err }) => err === ok)).toBe(true)
    answered += replies.length
  }
  expect(answered).toBe(501)
  expect(client.isPaused).toBe(false)
})

test('a read that waits for its client does not see the write behind it', () => {
  const server = new LonePeer({ limits: { unreadBytes: 3000 } })
  const client = server.connect()
  client.create('/a', kilobyte)
  client.send('setData', { path: '/a', data: kilobyte, version: -1 })
  for (let i = 0; i < 5; i++) client.send('getData', { path: '/a', watch: false })
  server.commit()
  client.send('setData', { path: '/a', data: Uint8Array.of(1), version: -1 })
  client.send('getData', { path: '/a', watch: false })
  server.commit()
  const replies = client.take()
  for (let more = client.take(); more.length > 0; more = client.take()) replies.push(...more)
  expect(replies.map(({ xid }) => xid)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  const lengths = replies
    .filter(({ xid }) => (xid >= 3 && xid <= 7) || xid === 9)
    .map(({ body }) => GetDataResponse.read(body).data?.length)
  expect(lengths).toEqual([1000, 1000, 1000, 1000, 1000, 1])
})

test('a client that reads nothing at all is closed where writes follow its reads', () => {
  const server = new LonePeer({ limits: { unreadBytes: 3000, unreadBytesMax: 10_000 } })
  const client = server.connect()
  client.create('/a', kilobyte)
  for (let round = 0; round < 2; round++) {
    client.send('setData', { path: '/a', data: kilobyte, version: -1 })
    for (let i = 0; i < 50; i++) client.send('getData', { path: '/a', watch: false })
  }
  server.commit()
  expect(client.connection.state).toBe('closed')
  expect(client.connection.out.position).toBeLessThan(12_000)
  expect(server.peer.stats.limitsReached.unread_bytes).toBe(1)
  expect(server.peer.outstandingRequests).toBe(0)
})

test('identities are bounded by their number and by their bytes', () => {
  const limits = { identities: 5, identityBytes: 2000 }
  const server = new LonePeer({ limits })
  const many = server.connect()
  const long = server.connect()
  for (let i = 0; i < 4; i++) expect(many.call('auth', digest(`user-${i}`))).toBe(ok)
  expect(many.call('auth', digest('user-3'))).toBe(ok)
  expect(many.connection.identities).toHaveLength(5)
  expect(many.call('auth', digest('one-more'))).toBe(authFailed)
  expect(many.connection.state).toBe('closed')
  expect(long.call('auth', digest('x'.repeat(1900)))).toBe(ok)
  expect(long.call('auth', digest('y'.repeat(200)))).toBe(authFailed)
  expect(server.peer.stats.limitsReached.identities).toBe(2)
})

test('watches of one session are bounded, and of all sessions together', () => {
  const server = new LonePeer({ limits: { watchesPerSession: 3, watches: 5 } })
  const [first, second, third] = [server.connect(), server.connect(), server.connect()]
  const watch = (client: typeof first, path: string): number =>
    client.call('exists', { path, watch: true })
  expect(['/a', '/b', '/c'].map((path) => watch(first, path))).toEqual([-101, -101, -101])
  expect(watch(first, '/d')).toBe(quotaExceeded)
  expect(first.call('getData', { path: '/', watch: true })).toBe(quotaExceeded)
  expect(first.call('getChildren', { path: '/', watch: true })).toBe(quotaExceeded)
  expect(first.call('getData', { path: '/', watch: false })).toBe(ok)
  expect(watch(second, '/a')).toBe(-101)
  expect(second.call('addWatch', { path: '/b', mode: addWatchModes.persistentRecursive })).toBe(ok)
  expect(watch(third, '/a')).toBe(quotaExceeded)
  const { watches, watches_per_session: perSession } = server.peer.stats.limitsReached
  expect([perSession, watches]).toEqual([3, 1])
  // Room again once a watch has fired, or its connection is gone.
  second.create('/a')
  expect(watch(first, '/d')).toBe(-101)
  server.peer.closed(second.connection)
  expect(watch(third, '/e')).toBe(-101)
  expect(server.db.watches.data.weight).toBe(server.db.watches.data.size)
})

test('a long path counts as several watches', () => {
  const server = new LonePeer({ limits: { watchesPerSession: 10 } })
  const client = server.connect()
  expect(client.call('exists', { path: `/${'a'.repeat(2600)}`, watch: true })).toBe(-101)
  expect(client.call('exists', { path: '/b', watch: true })).toBe(quotaExceeded)
})

test('a client whose watches find no room after a reconnect goes to another server', () => {
  const server = new LonePeer({ limits: { watches: 3 } })
  const client = server.connect()
  const paths = { dataWatches: [], existWatches: ['/a', '/b', '/c', '/d'], childWatches: [] }
  client.send('setWatches', { relativeZxid: 0n, ...paths })
  expect(client.take()).toEqual([])
  expect(client.connection.state).toBe('closed')
  expect(server.db.watches.data.weight).toBe(0)
})

test('what changed meanwhile is not told to those who may not read it', () => {
  const server = new LonePeer()
  const owner = server.connect()
  owner.call('auth', digest('owner:h'))
  const acl = [{ perms: 31, id: { scheme: 'digest', id: 'owner:h' } }]
  owner.call('create', { path: '/secret', data: null, acl, flags: 0 })
  const paths = { dataWatches: ['/secret'], existWatches: ['/secret'], childWatches: ['/secret'] }
  const restore = (client: typeof owner): number[] => {
    client.send('setWatches', { relativeZxid: 0n, ...paths })
    return client.take().map(({ xid }) => xid)
  }
  const stranger = server.connect()
  expect(restore(stranger)).toHaveLength(1)
  expect(server.db.watches.count).toBe(0)
  expect(restore(owner).filter((xid) => xid === -1)).toHaveLength(3)
})

test('large requests in flight are bounded by their bytes, for one client and for all', () => {
  const limits = { outstandingBytes: 30_000, outstandingBytesPerConnection: 20_000 }
  const server = new LonePeer({ limits })
  const [first, second, third] = [server.connect(), server.connect(), server.connect()]
  for (const client of [first, second, third]) client.create(`/${client.connection.sessionId}`)
  const write = (client: typeof first): void => {
    const path = `/${client.connection.sessionId}`
    client.send('setData', { path, data: new Uint8Array(9000), version: -1 })
  }
  for (let i = 0; i < 5; i++) write(first)
  // Two fit, the third is one too many; the others are not read.
  expect([first.isPaused, first.connection.queue.length]).toEqual([true, 3])
  for (let i = 0; i < 3; i++) write(second)
  expect([second.isPaused, second.connection.queue.length]).toEqual([true, 1])
  expect(third.call('getData', { path: '/', watch: false })).toBe(ok)
  while (server.peer.hasBatch) server.commit()
  expect(
    first
      .take()
      .concat(second.take())
      .map(({ err }) => err),
  ).toEqual(Array(8).fill(ok))
  expect([first.isPaused, second.isPaused]).toEqual([false, false])
  const { outstanding_bytes_per_connection: own, outstanding_bytes: all } =
    server.peer.stats.limitsReached
  expect([own > 0, all > 0]).toEqual([true, true])
})

test('requests in flight of one connection are bounded, those of others go on', () => {
  const server = new LonePeer({ limits: { outstandingPerConnection: 3 } })
  const [greedy, modest] = [server.connect(), server.connect()]
  for (let i = 0; i < 10; i++) greedy.send('setData', { path: '/', data: null, version: -1 })
  expect([greedy.isPaused, greedy.connection.queue.length]).toEqual([true, 4])
  modest.send('setData', { path: '/', data: null, version: -1 })
  expect(modest.isPaused).toBe(false)
  while (server.peer.hasBatch) server.commit()
  expect(greedy.take()).toHaveLength(10)
  expect(greedy.isPaused).toBe(false)
})

test('the super user gets through where others wait', () => {
  const server = new LonePeer({ outstandingMax: 2 })
  const [crowd, admin] = [server.connect(), server.connect()]
  admin.call('auth', { type: 0, scheme: 'super', auth: null })
  for (let i = 0; i < 10; i++) crowd.send('setData', { path: '/', data: null, version: -1 })
  for (let i = 0; i < 5; i++) admin.send('setData', { path: '/', data: null, version: -1 })
  expect([crowd.connection.queue.length, admin.connection.queue.length]).toEqual([3, 5])
})

test('a session lives on while it is the server that does not read its heartbeats', () => {
  const server = new LonePeer({ outstandingMax: 1 })
  const client = server.connect('127.0.0.1', 4000)
  for (let i = 0; i < 5; i++) client.send('setData', { path: '/', data: null, version: -1 })
  expect(client.isPaused).toBe(true)
  for (let i = 0; i < 20; i++) {
    server.nowMs += 1000
    server.peer.setTime(server.nowMs, server.nowMs)
    server.peer.tick()
  }
  expect(server.events.filter(({ type }) => type === 'sessionExpired')).toEqual([])
  while (server.peer.hasBatch) server.commit()
  server.passTime(10_000)
  expect(server.events.filter(({ type }) => type === 'sessionExpired')).toHaveLength(1)
})

test('a multi of more operations than are allowed is refused as a whole', () => {
  const rules = { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true }
  const server = new LonePeer({ rules: { ...rules, multiOperationsMax: 3 } })
  const client = server.connect()
  const multi = (count: number): number => {
    const check = { type: 13, request: { path: '/', version: -1 } } as const
    return client.call(
      'multi',
      Array.from({ length: count }, () => check),
    )
  }
  expect([multi(3), multi(4)]).toEqual([ok, badArguments])
  expect(server.peer.stats.limitsReached.multi_operations).toBe(1)
})

test('few writes are in flight while each of them meets very many watches', () => {
  const server = new LonePeer()
  const writer = server.connect()
  const flight = (): number => {
    for (let i = 0; i < 300; i++) writer.send('setData', { path: '/', data: null, version: -1 })
    const { length } = writer.connection.queue
    while (server.peer.hasBatch) server.commit()
    writer.take()
    return length
  }
  expect(flight()).toBe(300)
  const mode = addWatchModes.persistent
  for (let i = 0; i < 300; i++) server.connect().call('addWatch', { path: '/', mode })
  flight()
  expect(flight()).toBe(51)
})

test('what waits for clients that do not read keeps nobody else waiting', () => {
  const server = new LonePeer({ outstandingMax: 100, limits: { unreadBytes: 3000 } })
  const [deaf, other] = [server.connect(), server.connect()]
  deaf.create('/a', kilobyte)
  for (let round = 0; round < 5; round++) {
    deaf.isPaused = false
    const write = deaf.encode('setData', { path: '/a', data: kilobyte, version: -1 })
    const reads = Array.from({ length: 90 }, () =>
      deaf.encode('getData', { path: '/a', watch: false }),
    )
    deaf.sendBytes(write, ...reads)
    server.commit()
  }
  expect(deaf.connection.queue.length).toBeGreaterThan(80)
  expect(server.peer.outstandingRequests).toBe(0)
  for (let i = 0; i < 300; i++) {
    expect(other.call('setData', { path: '/', data: null, version: -1 })).toBe(ok)
  }
  expect(other.isPaused).toBe(false)
  const left = deaf.connection.queue.length
  let answered = 0
  for (let replies = deaf.take(); replies.length > 0; replies = deaf.take()) {
    answered += replies.length
    server.commit()
  }
  expect(answered).toBeGreaterThan(left)
  expect(deaf.connection.queue.length).toBe(0)
  expect(server.peer.outstandingRequests).toBe(0)
})

test('large requests of a client that does not read make room for those of others', () => {
  const limits = { unreadBytes: 1000, outstandingBytes: 50_000 }
  const server = new LonePeer({ limits })
  const [deaf, other] = [server.connect(), server.connect()]
  deaf.create('/a', kilobyte)
  const reads = Array.from({ length: 300 }, () => getData('/a'))
  deaf.send('setData', { path: '/a', data: kilobyte, version: -1 })
  for (let i = 0; i < 6; i++) deaf.send('multiRead', reads)
  server.commit()
  expect(deaf.connection.isParked).toBe(true)
  other.send('setData', { path: '/', data: new Uint8Array(40_000), version: -1 })
  expect(deaf.connection.state).toBe('closed')
  expect(other.isPaused).toBe(false)
})

test('a request that is too long costs its connection, and is counted', () => {
  const server = new LonePeer({ frameBytesMax: 2000 })
  const client = server.connect()
  client.sendBytes(Buffer.from([0, 1, 0, 0]))
  expect(client.connection.state).toBe('closed')
  expect(server.peer.stats.limitsReached.request_bytes).toBe(1)
})
