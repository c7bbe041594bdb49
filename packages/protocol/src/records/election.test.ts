/** Messages of the election port as Apache's servers send them, byte for byte. */
import { expect, test } from 'vitest'
import { MalformedError } from '../malformed.ts'
import {
  encodeInitialMessage,
  encodeNotification,
  initialMessageBytesMax,
  readInitialMessage,
  readNotification,
  type Notification,
} from './election.ts'

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const asciiHex = (text: string): string => hexOf(Buffer.from(text))

test.each([
  [
    'one address',
    'ffffffffffff0000 0000000000000003 0000000f 3132372e302e302e313a3238383833',
    { serverId: 3n, addresses: ['127.0.0.1:28883'] },
  ],
  [
    'several addresses',
    `ffffffffffff0001 0000000000000001 0000001f ${asciiHex('127.0.0.1:28881|127.0.0.2:28881')}`,
    { serverId: 1n, addresses: ['127.0.0.1:28881', '127.0.0.2:28881'] },
  ],
  ['no address, as before 3.5', '0000000000000002', { serverId: 2n, addresses: [] }],
])('an initial message with %s', (_, hex, message) => {
  const bytes = unhex(hex)
  expect(hexOf(encodeInitialMessage(message))).toBe(hexOf(bytes))
  expect(readInitialMessage(Buffer.concat([bytes, unhex('abcd')]))).toEqual({
    message,
    length: bytes.length,
  })
  for (let length = 0; length < bytes.length; length++) {
    expect(readInitialMessage(bytes.subarray(0, length))).toBeUndefined()
  }
})

test.each([
  ['a version nobody knows', 'ffffffffffff0002'],
  ['a negative id', 'ffffffffffff0000 ffffffffffffffff 00000001'],
  ['no room for an address', 'ffffffffffff0000 0000000000000001 00000000'],
  ['an address that is too long', 'ffffffffffff0000 0000000000000001 00000801'],
])('an initial message with %s is refused', (_, hex) => {
  expect(() => readInitialMessage(unhex(hex))).toThrow(MalformedError)
})

test('the longest initial message is accepted', () => {
  const bytes = encodeInitialMessage({ serverId: 1n, addresses: ['h'.repeat(2048)] })
  expect(bytes).toHaveLength(initialMessageBytesMax)
  expect(readInitialMessage(bytes)?.length).toBe(initialMessageBytesMax)
})

const vote = '0000000000000003 0000000100000007 0000000000000001'
const config = 'c'.repeat(138)

test('a notification is written in the format of 3.5 and later', () => {
  const notification: Notification = {
    state: 'looking',
    leader: 3n,
    zxid: 0n,
    round: 1n,
    peerEpoch: 0n,
    version: 2,
    config,
  }
  const expected = unhex(
    `00000000 0000000000000003 0000000000000000 0000000000000001 0000000000000000
     00000002 0000008a ${asciiHex(config)}`,
  )
  expect(expected).toHaveLength(0xb6)
  expect(hexOf(encodeNotification(notification))).toBe(hexOf(expected))
  expect(readNotification(expected)).toEqual(notification)
})

test.each([
  ['28 bytes: the epoch is that of the zxid', '', { peerEpoch: 1n, version: 0 }],
  ['40 bytes: the version counts for nothing', '0000000000000009 00000001', { version: 0 }],
  ['version 1', '0000000000000009 00000001 00', { peerEpoch: 9n, version: 1 }],
  ['version 2', '0000000000000009 00000002 00000002 6869', { version: 2, config: 'hi' }],
  [
    'version 2, with what is proposed',
    '0000000000000009 00000002 00000002 6869 00000003 796f75',
    { config: 'hi', proposed: 'you' },
  ],
  ['version 3, with more behind', '0000000000000009 00000003 00000000 ff', { config: '' }],
])('a notification of %s', (_, rest, expected) => {
  const read = readNotification(unhex(`00000001 ${vote} ${rest}`))
  expect(read).toMatchObject({ state: 'following', leader: 3n, zxid: 0x1_0000_0007n, round: 1n })
  expect(read).toMatchObject(expected)
})

test('a proposed configuration is appended to a notification, and nothing if there is none', () => {
  const told = {
    state: 'looking',
    leader: 3n,
    zxid: 5n,
    round: 1n,
    peerEpoch: 9n,
    version: 2,
    config: 'hi',
  } as const
  const plain = encodeNotification(told)
  const bytes = encodeNotification({ ...told, proposed: 'you' })
  expect(bytes.subarray(0, plain.length)).toEqual(plain)
  expect(readNotification(bytes)).toEqual({ ...told, proposed: 'you' })
  expect(readNotification(plain)).toEqual(told)
})

test.each([
  ['nothing', ''],
  ['fewer than 28 bytes', '00000000 0000000000000003'],
  ['half an epoch', `00000000 ${vote} 00000000`],
  ['half a version', `00000000 ${vote} 0000000000000009 0000`],
  ['an unknown state', `00000004 ${vote}`],
  ['a negative state', `ffffffff ${vote}`],
  ['a negative length', `00000000 ${vote} 0000000000000009 00000002 ffffffff`],
  ['a length beyond its end', `00000000 ${vote} 0000000000000009 00000002 00000003 6869`],
])('a notification of %s is dropped', (_, hex) => {
  expect(readNotification(unhex(hex))).toBeUndefined()
})
