import { encodeInitialMessage } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { Links, type ConnectionId } from './links.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const message = (content: string): Uint8Array => Buffer.from(content)

function framed(content: string): Uint8Array {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length)
  return Buffer.concat([length, message(content)])
}

function introduction(serverId: number | bigint, ...addresses: string[]): Uint8Array {
  return encodeInitialMessage({ serverId: BigInt(serverId), addresses })
}

/** Links whose actions read as short sentences. */
function linksOf(self: number): Links & { did(): string[] } {
  const links = new Links({ self: BigInt(self), addresses: [`host${self}:3888`] })
  const describe = (connection: ConnectionId, bytes: Uint8Array): string =>
    bytes[0] === 0xff
      ? `introduce on ${connection}`
      : `send ${text(bytes.subarray(4))} on ${connection}`
  const did = (): string[] =>
    links.takeActions().map((action) => {
      if (action.type === 'dial') return `dial ${[action.server, ...action.announced].join(' ')}`
      if (action.type === 'send') return describe(action.connection, action.bytes)
      if (action.type === 'close') return `close ${action.connection}`
      return `${action.from} says ${text(action.payload)}`
    })
  return Object.assign(links, { did })
}

test('a message is a reason to dial, and the larger server keeps what it dialled', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  expect(links.did()).toEqual(['dial 1'])
  links.dialled(1n, 7)
  expect(links.did()).toEqual(['introduce on 7', 'send a on 7'])
  expect(links.connected).toEqual([1n])
})

test('the smaller server introduces itself, hangs up and is dialled back', () => {
  const links = linksOf(1)
  links.send(2n, message('a'))
  links.dialled(2n, 7)
  expect(links.did()).toEqual(['dial 2', 'introduce on 7', 'close 7'])
  links.accepted(8)
  links.received(8, introduction(2, 'host2:3888'))
  expect(links.did()).toEqual(['send a on 8'])
})

test('a server with a smaller id is dialled back at the address it announces', () => {
  const links = linksOf(2)
  links.accepted(7)
  links.received(7, introduction(1, 'elsewhere:3888'))
  expect(links.did()).toEqual(['close 7', 'dial 1 elsewhere:3888'])
})

test.each(['0.0.0.0:3888', '[::]:3888', '[0:0:0:0:0:0:0:0]:3888'])(
  'nobody is dialled at %s',
  (address) => {
    const links = linksOf(2)
    links.accepted(7)
    links.received(7, introduction(1, address))
    expect(links.did()).toEqual(['close 7', 'dial 1'])
  },
)

test('a smaller server that dials again has lost the old connection', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  links.dialled(1n, 7)
  links.did()
  links.accepted(8)
  links.received(8, introduction(1, 'host1:3888'))
  expect(links.did()).toEqual(['close 8', 'close 7', 'dial 1 host1:3888'])
  links.dialled(1n, 9)
  expect(links.did()).toEqual(['introduce on 9', 'send a on 9'])
})

test('a new connection from the larger server replaces the old one', () => {
  const links = linksOf(1)
  links.accepted(7)
  links.received(7, introduction(2, 'host2:3888'))
  links.accepted(8)
  links.received(8, introduction(2, 'host2:3888'))
  expect(links.did()).toEqual(['close 7'])
  links.closed(7)
  expect(links.connected).toEqual([2n])
})

test('a server with the same id is not talked to', () => {
  const links = linksOf(1)
  links.accepted(7)
  links.received(7, introduction(1, 'host1:3888'))
  expect(links.did()).toEqual(['close 7'])
})

test('servers without a name get one each', () => {
  const links = linksOf(1)
  for (const id of [7, 8]) {
    links.accepted(id)
    links.received(id, Buffer.concat([introduction(2n ** 63n - 1n, 'any:1'), framed('a')]))
  }
  expect(links.did()).toEqual(['-1 says a', '-2 says a'])
  links.send(-2n, message('b'))
  expect(links.did()).toEqual(['send b on 8'])
})

test('only the newest message waits while another is being sent', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  links.dialled(1n, 7)
  links.send(1n, message('b'))
  links.send(1n, message('c'))
  expect(links.did()).toEqual(['dial 1', 'introduce on 7', 'send a on 7'])
  links.sent(7)
  expect(links.did()).toEqual(['send c on 7'])
  links.sent(7)
  expect(links.did()).toEqual([])
})

test('the last message is sent again on a new connection, unless there is a newer one', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  links.dialled(1n, 7)
  links.sent(7)
  links.closed(7)
  links.did()
  expect(links.connected).toEqual([])
  links.accepted(8)
  links.received(8, introduction(1, 'host1:3888'))
  links.dialled(1n, 9)
  expect(links.did()).toEqual(['close 8', 'dial 1 host1:3888', 'introduce on 9', 'send a on 9'])
  links.closed(9)
  links.send(1n, message('b'))
  links.dialled(1n, 10)
  expect(links.did()).toEqual(['dial 1', 'introduce on 10', 'send b on 10'])
})

test('one attempt at a time, and the next message is the next attempt', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  links.send(1n, message('b'))
  expect(links.did()).toEqual(['dial 1'])
  links.dialFailed(1n)
  expect(links.did()).toEqual([])
  links.send(1n, message('c'))
  expect(links.did()).toEqual(['dial 1'])
})

test('messages are found in the stream, wherever it is cut', () => {
  const stream = Buffer.concat([introduction(2, 'host2:3888'), framed('one'), framed('two')])
  for (let cut = 0; cut <= stream.length; cut++) {
    const links = linksOf(1)
    links.accepted(7)
    links.received(7, stream.subarray(0, cut))
    links.received(7, stream.subarray(cut))
    expect(links.did()).toEqual(['2 says one', '2 says two'])
  }
})

test.each([
  ['an empty message', Buffer.concat([introduction(2, 'h:1'), Buffer.alloc(4)])],
  [
    'a message that is too long',
    Buffer.concat([introduction(2, 'h:1'), Buffer.from('00080001', 'hex')]),
  ],
  ['a negative length', Buffer.concat([introduction(2, 'h:1'), Buffer.from('ffffffff', 'hex')])],
  ['an introduction that is none', Buffer.alloc(20, 0xff)],
])('%s ends the connection', (_, bytes) => {
  const links = linksOf(1)
  links.accepted(7)
  links.received(7, bytes)
  expect(links.did()).toEqual(['close 7'])
  links.received(7, framed('late'))
  expect(links.did()).toEqual([])
})

test('the number of connections without an introduction is limited', () => {
  const links = linksOf(1)
  for (let id = 0; id <= 100; id++) links.accepted(id)
  expect(links.did()).toEqual(['close 0'])
})

test('the number of remembered servers is limited', () => {
  const links = linksOf(1)
  const come = (server: number): void => {
    links.accepted(server)
    links.received(server, introduction(server, `host${server}:3888`))
  }
  come(2)
  for (let server = 3; server <= 1002; server++) {
    come(server)
    links.closed(server)
  }
  expect([2n, 3n, 4n, 1002n].map((server) => links.isGone(server))).toEqual([
    false,
    false,
    true,
    true,
  ])
  expect(links.connected).toEqual([2n])
})

test('a server counts as down when it closes its connection, until there is a new one', () => {
  const links = linksOf(2)
  links.send(1n, message('a'))
  expect(links.isGone(1n)).toBe(false)
  links.dialled(1n, 7)
  links.closed(7)
  expect(links.isGone(1n)).toBe(true)
  links.send(1n, message('b'))
  links.dialled(1n, 8)
  expect(links.isGone(1n)).toBe(false)
})

test('a server counts as down when it cannot be dialled, but not while it does not answer yet', () => {
  const links = linksOf(1)
  links.send(2n, message('a'))
  expect(links.isGone(2n)).toBe(false)
  links.dialFailed(2n)
  expect(links.isGone(2n)).toBe(true)
  links.send(2n, message('b'))
  // A connection that we hang up ourselves proves nothing: nobody may be behind it.
  links.dialled(2n, 7)
  expect(links.isGone(2n)).toBe(true)
  links.accepted(8)
  links.received(8, introduction(2, 'host2:3888'))
  expect(links.isGone(2n)).toBe(false)
})

test('a server whose connection is replaced does not count as down', () => {
  const links = linksOf(1)
  for (const id of [7, 8]) {
    links.accepted(id)
    links.received(id, introduction(2, 'host2:3888'))
  }
  links.closed(7)
  links.dialFailed(2n)
  expect(links.isGone(2n)).toBe(false)
})
