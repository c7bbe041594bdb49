import { expect, test } from 'vitest'
import { isSessionPassword, sessionPassword } from './password.ts'

/** Captured from Apache servers. */
const captured: [id: bigint, password: string][] = [
  [0x0100000b044b0000n, '37c5c753f89387746d9c4b8d01d1d967'],
  [0x0100000b044b0001n, '4ae6c15398df66b962dfb2b8d559ee34'],
  [0x01000018a9710000n, 'f583d254de7ea1285b4467855725e817'],
  [0x0100000ce84e0000n, 'f0fd1320bdf07da44e1a26acce8f6501'],
]

test.each(captured)('session %i has the password that Apache gives it', (id, password) => {
  expect(Buffer.from(sessionPassword(id)).toString('hex')).toBe(password)
  expect(isSessionPassword(id, Buffer.from(password, 'hex'))).toBe(true)
})

test('a negative session id, of a server above 127, has a password too', () => {
  const id = BigInt.asIntN(64, 0xfe00000ce84e0000n)
  expect(isSessionPassword(id, sessionPassword(id))).toBe(true)
})

test('any other password is wrong', () => {
  const [id, password] = captured[0]!
  const right = Buffer.from(password, 'hex')
  const almost = Buffer.from(right)
  almost[15]! ^= 1
  expect(isSessionPassword(id, almost)).toBe(false)
  expect(isSessionPassword(id, right.subarray(0, 15))).toBe(false)
  expect(isSessionPassword(id, Buffer.concat([right, Buffer.of(0)]))).toBe(false)
  expect(isSessionPassword(id, new Uint8Array(0))).toBe(false)
  expect(isSessionPassword(id, null)).toBe(false)
  expect(isSessionPassword(id + 1n, right)).toBe(false)
})

test('session 0 is no session, whatever the password', () => {
  expect(isSessionPassword(0n, sessionPassword(0n))).toBe(false)
})
