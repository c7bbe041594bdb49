import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { encodeInitialMessage } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { AuthenticatedIntroduction } from './election-connection.ts'

function introduction() {
  const refusals: string[] = []
  const socket = new Duplex() as Socket
  const sasl = { isRequired: true, users: new Map<string, string>(), own: undefined }
  const made = new AuthenticatedIntroduction(sasl, socket, {
    passed: () => ({ receive() {} }),
    refused: (reason) => refusals.push(reason),
  })
  const push = (bytes: Uint8Array): void => made.receive(bytes, bytes.length)
  return { push, refusals }
}

test('a malformed introduction is refused once, whatever follows it', () => {
  const { push, refusals } = introduction()
  push(Buffer.alloc(8, 0xff))
  for (let i = 0; i < 3; i++) push(new Uint8Array(64 * 1024))
  expect(refusals).toEqual(['an initial message of version -1'])
})

test('an introduction without authentication is refused once, whatever follows it', () => {
  const { push, refusals } = introduction()
  push(encodeInitialMessage({ serverId: 3n, addresses: ['127.0.0.1:1'] }))
  for (let i = 0; i < 3; i++) push(new Uint8Array(64 * 1024))
  expect(refusals).toEqual(['it does not authenticate'])
})
