import {
  errorCodes,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  WatcherEvent,
  Writer,
  xids,
} from '@zabra/protocol'
import { expect, test } from 'vitest'
import * as kinds from '../calls/kinds.ts'
import { ConnectionLossError, OperationError } from '../errors.ts'
import { RequestStats } from '../request-stats.ts'
import { Call } from './call.ts'
import { authKind, Conversation, type Credentials } from './conversation.ts'
import { WatchRegistry, type WatchEvent } from './watch-registry.ts'

interface Said {
  readonly xid: number
  readonly type: number
  readonly body: Reader
}

/** A conversation with a server whose replies the test decides. */
class Talk {
  readonly watches = new WatchRegistry(
    (path) => path,
    (error) => {
      throw error
    },
  )
  readonly left: string[] = []
  readonly refused: string[] = []
  onRefused = (): void => {}
  pieces = 0
  isFull = false
  readonly conversation: Conversation
  readonly said: Said[] = []
  private mustFlush = false

  constructor(repeatsMax = 3) {
    const link = {
      send: (bytes: Uint8Array, frames: number) => {
        this.pieces++
        const reader = new Reader(new Uint8Array(bytes))
        for (let i = 0; i < frames; i++) {
          const end = reader.int() + reader.position
          const { xid, type } = RequestHeader.read(reader)
          this.said.push({ xid, type, body: new Reader(reader.bytes, reader.position, end) })
          reader.position = end
        }
        return true
      },
      isFull: false,
      leave: (cause: Error) => {
        this.left.push(cause.message)
        this.leave(cause)
      },
    }
    Object.defineProperty(link, 'isFull', { get: () => this.isFull })
    this.conversation = new Conversation(link, () => (this.mustFlush = true), this.watches, {
      repeatsMax,
      requestBytesMax: 800_000,
      nowMs: () => 0,
      stats: new RequestStats(),
      slowMs: Infinity,
      onSlow: () => {},
      onRejected: () => {},
      onIdentityRefused: ({ scheme, isTold }) => {
        this.refused.push(isTold ? `${scheme}, told` : scheme)
        this.onRefused()
      },
    })
  }

  leave = (cause: Error): void => this.conversation.lost(cause)

  /** Everything sent since the last time. */
  take(): Said[] {
    if (this.mustFlush) {
      this.mustFlush = false
      this.conversation.flush()
    }
    return this.said.splice(0)
  }

  takeTypes(): number[] {
    return this.take().map(({ type }) => type)
  }

  /** The zxid of the next reply. */
  zxid = 1n

  reply(xid: number, err: number = errorCodes.ok, body: (writer: Writer) => void = () => {}): void {
    const writer = new Writer()
    ReplyHeader.write(writer, { xid, zxid: this.zxid, err })
    body(writer)
    this.conversation.frame(writer.written(), 0, writer.position)
    this.conversation.received()
  }

  notify(type: number, path: string): void {
    this.reply(-1, 0, (writer) => WatcherEvent.write(writer, { type, state: 3, path }))
  }

  read(path = '/a'): Promise<string[]> {
    return this.conversation.submit(new Call(kinds.getChildren, { path, watch: false }, path))
  }

  write(path = '/a'): Promise<void> {
    return this.conversation.submit(new Call(kinds.remove, { path, version: -1 }, path))
  }
}

const children =
  (...names: string[]) =>
  (writer: Writer) => {
    writer.int(names.length)
    for (const name of names) writer.ustring(name)
  }

test('requests of one turn leave in one piece, in order', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const answers = [talk.read('/x'), talk.read('/y')]
  const said = talk.take()
  expect(talk.pieces).toBe(1)
  expect(said.map(({ xid, body }) => [xid, body.ustring()])).toEqual([
    [1, '/x'],
    [2, '/y'],
  ])
  talk.reply(1, 0, children('one'))
  talk.reply(2, 0, children('two'))
  expect(await Promise.all(answers)).toEqual([['one'], ['two']])
})

test('a watch counts as being set from the request until the reply', async () => {
  const talk = new Talk()
  const call = new Call(kinds.exists, { path: '/a', watch: true }, '/a')
  call.watch = () => {}
  call.watchPath = '/a'
  const answer = talk.conversation.submit(call)
  expect(talk.conversation.isToWatch('/a')).toBe(true)
  expect(talk.conversation.isToWatch('/b')).toBe(false)
  talk.conversation.connected()
  const [said] = talk.take()
  expect(talk.conversation.isToWatch('/a')).toBe(true)
  talk.reply(said!.xid, errorCodes.noNode)
  await answer
  expect(talk.conversation.isToWatch('/a')).toBe(false)
  expect(talk.watches.has('/a')).toBe(true)
})

test('a reply that is not the next one is an error', () => {
  const talk = new Talk()
  talk.conversation.connected()
  talk.read().catch(() => {})
  talk.take()
  expect(() => talk.reply(7)).toThrow('a reply to 7, where 1 is the next')
})

test('after a loss, reads are sent again before waiting calls, and writes are not', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const write = talk.write().catch((error: unknown) => error)
  void talk.read('/sent')
  talk.take()
  talk.conversation.lost(new Error('gone'))
  void talk.read('/later')
  expect(await write).toBeInstanceOf(ConnectionLossError)
  talk.conversation.connected()
  expect(talk.take().map(({ body }) => body.ustring())).toEqual(['/sent', '/later'])
})

test('a read is not sent again forever', async () => {
  const talk = new Talk(2)
  const read = talk.read().catch((error: unknown) => error)
  for (let i = 0; i < 3; i++) {
    talk.conversation.connected()
    expect(talk.takeTypes()).toEqual([8])
    talk.conversation.lost(new Error('gone'))
  }
  expect(await read).toMatchObject({ code: 'connectionLoss', mayHaveHappened: false })
})

test('a call that is aborted before it is sent is never sent, and no reply is expected for it', async () => {
  const talk = new Talk()
  const call = new Call(kinds.remove, { path: '/a', version: -1 }, '/a')
  talk.conversation.submit(call).catch(() => {})
  call.fail('enough')
  talk.conversation.connected()
  expect(talk.take()).toEqual([])

  const sent = new Call(kinds.remove, { path: '/a', version: -1 }, '/a')
  talk.conversation.submit(sent).catch(() => {})
  const next = talk.read()
  expect(talk.takeTypes()).toEqual([2, 8])
  sent.fail('enough')
  talk.reply(1)
  talk.reply(2, 0, children())
  expect(await next).toEqual([])
})

test('a new connection gets identities first, then watches, then requests', () => {
  const talk = new Talk()
  const identity: Credentials = { scheme: 'digest', credentials: new Uint8Array(1) }
  talk.conversation.authenticate(new Call(authKind, identity)).catch(() => {})
  talk.watches.add('data', '/w', () => {})
  void talk.read()
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100, 101, 8])
})

test('watches are restored in portions that servers can read', () => {
  const talk = new Talk()
  const paths = Array.from({ length: 3000 }, (_, i) => `/${'x'.repeat(90)}${i}`)
  for (const path of paths) talk.watches.add('child', path, () => {})
  talk.conversation.connected()
  const said = talk.take()
  expect(said.length).toBeGreaterThan(1)
  let count = 0
  for (const { body, xid, type } of said) {
    expect([xid, type]).toEqual([-8, 101])
    expect(body.remaining).toBeLessThan(200_000)
    expect(body.long()).toBe(0n)
    expect([body.int(), body.int()]).toEqual([0, 0])
    count += body.int()
  }
  expect(count).toBe(3000)
})

/** Reconnects, and returns the zxid from which changes are requested. */
function askedFrom(talk: Talk): bigint[] {
  talk.conversation.lost(new Error('gone'))
  talk.conversation.connected()
  return talk.take().map(({ body }) => body.long())
}

test('a new connection is asked for the changes of a transaction that was only partly reported', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  for (const path of ['/a', '/b', '/c']) talk.watches.add('data', path, () => {})
  const read = talk.read()
  talk.take()
  talk.zxid = 7n
  talk.reply(1, 0, children())
  await read
  talk.zxid = 9n
  talk.notify(3, '/a')
  expect(askedFrom(talk)).toEqual([8n])
  // For changes found by comparison, the server does not report a zxid.
  talk.zxid = -1n
  talk.notify(3, '/b')
  expect(askedFrom(talk)).toEqual([8n])
  talk.zxid = 12n
  talk.reply(-8)
  expect(askedFrom(talk)).toEqual([12n])
})

test('until all portions of watches are answered, all are restored again from the same zxid', () => {
  const talk = new Talk()
  const paths = Array.from({ length: 3000 }, (_, i) => `/${'x'.repeat(90)}${i}`)
  for (const path of paths) talk.watches.add('child', path, () => {})
  talk.conversation.connected()
  const portions = talk.take()
  talk.zxid = 5n
  for (const { xid } of portions.slice(1)) talk.reply(xid)
  talk.zxid = 6n
  talk.notify(4, paths[0]!)
  expect(new Set(askedFrom(talk))).toEqual(new Set([0n]))
  talk.zxid = 7n
  for (const { xid } of portions) talk.reply(xid)
  expect(new Set(askedFrom(talk))).toEqual(new Set([7n]))
})

test('a watch is set by the reply, and for a missing node by the error', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const events: WatchEvent[] = []
  const call = new Call(kinds.exists, { path: '/a', watch: true }, '/a')
  call.watch = (event) => events.push(event)
  call.watchPath = '/a'
  const exists = talk.conversation.submit(call)
  talk.take()
  talk.notify(1, '/a')
  expect(events).toEqual([])
  talk.reply(1, errorCodes.noNode)
  expect(await exists).toBeUndefined()
  talk.notify(1, '/a')
  talk.notify(1, '/a')
  expect(events).toEqual([{ type: 'created', path: '/a', zxid: 1n }])
})

test('a read that must not be stale sends a sync first, and the error of the sync is its own', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const call = new Call(kinds.getChildren, { path: '/a', watch: false }, '/a')
  call.sync = 'always'
  const read = talk.conversation.submit(call).catch((error: unknown) => error)
  expect(talk.takeTypes()).toEqual([9, 8])
  expect(talk.pieces).toBe(1)
  talk.reply(1, errorCodes.notReadOnly)
  talk.reply(2, 0, children())
  expect(await read).toBeInstanceOf(OperationError)
})

test('after a write with a lost reply, an empty write goes first until one succeeds', async () => {
  const talk = new Talk()
  const careful = (): Promise<string[]> => {
    const call = new Call(kinds.getChildren, { path: '/a', watch: false }, '/a')
    call.sync = 'ifUncertain'
    return talk.conversation.submit(call)
  }
  talk.conversation.connected()
  void careful()
  talk.write().catch(() => {})
  expect(talk.takeTypes()).toEqual([8, 2])
  talk.conversation.lost(new Error('gone'))
  talk.conversation.connected()
  const [barrier, read] = talk.take()
  expect([barrier?.type, read?.type]).toEqual([14, 8])
  talk.reply(barrier!.xid, 0, (writer) => operations.multi.response.write(writer, []))
  talk.reply(read!.xid, 0, children())
  void careful()
  expect(talk.takeTypes()).toEqual([8])
})

test('calls beyond the limit wait until earlier ones are answered', () => {
  const talk = new Talk()
  talk.conversation.connected()
  for (let i = 0; i < 10_000; i++) void talk.read()
  expect(talk.take()).toHaveLength(8192)
  talk.reply(1, 0, children())
  expect(talk.take()).toHaveLength(1)
})

test('large requests do not pile up in memory: they are encoded as earlier ones leave', () => {
  const talk = new Talk()
  talk.conversation.connected()
  talk.isFull = true
  const data = new Uint8Array(700_000)
  for (let i = 0; i < 3; i++) {
    const call = new Call(kinds.setData, { path: '/a', data, version: -1 }, '/a')
    talk.conversation.submit(call).catch(() => {})
  }
  for (let i = 0; i < 3; i++) {
    expect(talk.take()).toHaveLength(1)
    expect(talk.take()).toHaveLength(0)
    talk.conversation.drained()
  }
  expect(talk.take()).toHaveLength(0)
})

test('a request that no server accepts is not sent, and does not break the connection', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const before = talk.read('/before')
  const request = { path: '/large', data: new Uint8Array(800_000), version: -1 }
  const large = talk.conversation.submit(new Call(kinds.setData, request, '/large'))
  const after = talk.read('/after')
  await expect(large).rejects.toThrow(/^a request of 8000\d\d bytes .*800000.*: \/large$/)
  expect(talk.take().map(({ xid, body }) => [xid, body.ustring()])).toEqual([
    [1, '/before'],
    [3, '/after'],
  ])
  talk.reply(1, 0, children())
  talk.reply(3, 0, children())
  expect(await Promise.all([before, after])).toEqual([[], []])
})

test('with many requests at once, the server gets the first before all are encoded', () => {
  const talk = new Talk()
  talk.conversation.connected()
  for (let i = 0; i < 1000; i++) void talk.read('/some/path')
  const early = talk.said.length
  expect(early).toBeGreaterThan(500)
  expect(early).toBeLessThan(1000)
  expect(talk.take()).toHaveLength(1000)
})

test('nothing more is sent while the socket is full', () => {
  const talk = new Talk()
  talk.conversation.connected()
  talk.isFull = true
  void talk.read('/first')
  expect(talk.take()).toHaveLength(1)
  void talk.read('/second')
  expect(talk.take()).toHaveLength(0)
  talk.isFull = false
  talk.conversation.drained()
  expect(talk.take()).toHaveLength(1)
})

test('a refused identity is not presented again, and the client reconnects', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const identity: Credentials = { scheme: 'x', credentials: new Uint8Array(0) }
  const auth = talk.conversation
    .authenticate(new Call(authKind, identity))
    .catch((error: unknown) => error)
  talk.take()
  talk.reply(-4, errorCodes.authFailed)
  expect(await auth).toMatchObject({ reason: 'authFailed' })
  expect(talk.refused).toEqual(['x, told'])
  expect(talk.left).toHaveLength(1)
  talk.conversation.connected()
  expect(talk.take()).toEqual([])
})

test('an impossible reply fails its call with the loss of the connection', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const write = talk.write().catch((error: unknown) => error)
  talk.take()
  expect(() => talk.reply(7)).toThrow('a reply to 7')
  talk.conversation.lost(new Error('gone'))
  expect(await write).toMatchObject({ code: 'connectionLoss', mayHaveHappened: true })
})

test('an unreadable reply counts as lost', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const read = talk.read().catch((error: unknown) => error)
  talk.take()
  expect(() => talk.reply(1, 0, (writer) => writer.int(5))).toThrow()
  expect(await read).toMatchObject({ code: 'connectionLoss', mayHaveHappened: false, path: '/a' })
})

test('a watch is set even if the codec does not understand the data', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const call = new Call(kinds.getData, { path: '/a', watch: true }, '/a')
  call.context = {
    decode: () => {
      throw new TypeError('not what was expected')
    },
  }
  call.watch = () => {}
  call.watchPath = '/a'
  const read = talk.conversation.submit(call)
  talk.take()
  talk.reply(1, 0, (writer) => {
    writer.buffer(new Uint8Array(1))
    for (let i = 0; i < 68; i++) writer.byte(0)
  })
  await expect(read).rejects.toThrow('not what was expected')
  expect(talk.watches.has('/a')).toBe(true)
})

test('an identity does not overtake earlier requests', () => {
  const talk = new Talk()
  talk.conversation.connected()
  talk.isFull = true
  talk.write().catch(() => {})
  expect(talk.takeTypes()).toEqual([2])
  talk.write().catch(() => {})
  const identity: Credentials = { scheme: 'digest', credentials: new Uint8Array(1) }
  talk.conversation.authenticate(new Call(authKind, identity)).catch(() => {})
  void talk.read()
  expect(talk.take()).toEqual([])
  talk.isFull = false
  talk.conversation.drained()
  expect(talk.takeTypes()).toEqual([2, 100, 8])
})

test('an identity that waits for room is presented first on the next connection', () => {
  const talk = new Talk()
  talk.conversation.connected()
  talk.isFull = true
  talk.write().catch(() => {})
  talk.take()
  void talk.read()
  const identity: Credentials = { scheme: 'digest', credentials: new Uint8Array(1) }
  talk.conversation.authenticate(new Call(authKind, identity)).catch(() => {})
  talk.conversation.lost(new Error('gone'))
  talk.isFull = false
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100, 8])
})

test('after a refused identity, requests wait even if the link reports the loss late', () => {
  const talk = new Talk()
  talk.leave = () => {}
  talk.conversation.connected()
  const identity: Credentials = { scheme: 'x', credentials: new Uint8Array(0) }
  talk.conversation.authenticate(new Call(authKind, identity)).catch(() => {})
  talk.take()
  talk.reply(-4, errorCodes.authFailed)
  talk.write().catch(() => {})
  expect(talk.take()).toEqual([])
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([2])
})

/** Presents identities with these schemes, all of which the first server accepts. */
async function presented(talk: Talk, ...schemes: string[]): Promise<void> {
  talk.conversation.connected()
  const accepted = schemes.map((scheme) => {
    const isRequired = scheme === 'own'
    const identity: Credentials = { scheme, credentials: new Uint8Array(0), isRequired }
    return talk.conversation.authenticate(new Call(authKind, identity))
  })
  talk.take()
  for (const _ of schemes) talk.reply(-4)
  await Promise.all(accepted)
  talk.conversation.lost(new Error('gone'))
  talk.conversation.connected()
  talk.take()
}

test('an identity that a later server refuses is reported to listeners', async () => {
  const talk = new Talk()
  await presented(talk, 'x')
  expect(talk.refused).toEqual([])
  talk.reply(-4, errorCodes.authFailed)
  expect(talk.refused).toEqual(['x'])
  expect(talk.left).toHaveLength(1)
})

test('each refused identity costs one connection, and no more', async () => {
  const talk = new Talk()
  await presented(talk, 'x', 'y', 'z')
  talk.reply(-4, errorCodes.authFailed)
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100, 100])
  talk.reply(-4)
  talk.reply(-4, errorCodes.authFailed)
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100])
  talk.reply(-4)
  expect(talk.refused).toEqual(['x', 'z'])
  expect(talk.left).toHaveLength(2)
})

test('a refused required identity ends the client, which reports it', async () => {
  const talk = new Talk()
  await presented(talk, 'own')
  talk.reply(-4, errorCodes.authFailed)
  expect(talk.refused).toEqual(['own, told'])
})

test('an identity that is refused when nobody waits any more is reported to listeners', () => {
  const talk = new Talk()
  talk.conversation.connected()
  const identity: Credentials = { scheme: 'x', credentials: new Uint8Array(0) }
  const call = new Call(authKind, identity)
  talk.conversation.authenticate(call).catch(() => {})
  talk.take()
  call.fail(new Error('given up'))
  talk.reply(-4, errorCodes.authFailed)
  expect(talk.refused).toEqual(['x'])
})

test('a listener of a refused identity may present another one, for the next connection', async () => {
  const talk = new Talk()
  await presented(talk, 'x')
  talk.onRefused = () => {
    const identity: Credentials = { scheme: 'y', credentials: new Uint8Array(0) }
    talk.conversation.authenticate(new Call(authKind, identity)).catch(() => {})
  }
  talk.reply(-4, errorCodes.authFailed)
  expect(talk.take()).toEqual([])
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100])
})

test('an identity that was added again and again is presented once to the next server', async () => {
  const talk = new Talk()
  talk.conversation.connected()
  const identity = (text: string): Credentials => ({
    scheme: 'digest',
    credentials: new TextEncoder().encode(text),
  })
  for (const text of ['ann:a', 'ann:a', 'bob:b', 'ann:a']) {
    const accepted = talk.conversation.authenticate(new Call(authKind, identity(text)))
    talk.take()
    talk.reply(xids.auth)
    await accepted
  }
  talk.conversation.lost(new Error('lost'))
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100, 100])
})

test('the same identity that is added again before the answer is accepted for both', async () => {
  const talk = new Talk()
  const identity = (): Credentials => ({ scheme: 'digest', credentials: new Uint8Array(1) })
  const both = [identity(), identity()].map((one) =>
    talk.conversation.authenticate(new Call(authKind, one)),
  )
  talk.conversation.connected()
  talk.take()
  talk.conversation.lost(new Error('lost'))
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100, 100])
  for (const _ of both) talk.reply(xids.auth)
  await Promise.all(both)
  talk.conversation.lost(new Error('lost'))
  talk.conversation.connected()
  expect(talk.takeTypes()).toEqual([100])
})
