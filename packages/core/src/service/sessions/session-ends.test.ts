import { expect, test } from 'vitest'
import type { ClientConnection } from '../connection.ts'
import { SessionEnds } from './session-ends.ts'

const goneMax = 20_000

function connectionOf(id: number): ClientConnection {
  const link = { address: '' }
  return { sessionId: BigInt(id), timeoutMs: 1000, lastHeardMs: 0, link } as ClientConnection
}

function connectedTo(ends: SessionEnds, count: number): ClientConnection[] {
  return Array.from({ length: count }, (_, id) => {
    const connection = connectionOf(id)
    ends.connected(connection)
    return connection
  })
}

function connectionsAtEnd(ends: SessionEnds, { sessionId }: ClientConnection): number {
  ends.ended(sessionId, 1n, true)
  return ends.endOf(sessionId)?.connections.length ?? 0
}

test('all connected sessions are known, however many there are', () => {
  const ends = new SessionEnds({ nowMs: 0, wallMs: 0 })
  const all = connectedTo(ends, 2 * goneMax)
  expect(connectionsAtEnd(ends, all[0]!)).toBe(1)
  expect(connectionsAtEnd(ends, all.at(-1)!)).toBe(1)
})

test('of sessions without a connection, those whose clients left first are forgotten', () => {
  const ends = new SessionEnds({ nowMs: 0, wallMs: 0 })
  const all = connectedTo(ends, goneMax + 2)
  for (const connection of all) ends.disconnected(connection, 'client')
  // The first two are forgotten; the third is about to be, but its client comes back.
  ends.connected(all[2]!)
  const [first, second, third] = all
  const [one, two] = connectedTo(new SessionEnds({ nowMs: 0, wallMs: 0 }), 2)
  expect(connectionsAtEnd(ends, first!)).toBe(0)
  expect(connectionsAtEnd(ends, second!)).toBe(0)
  for (const connection of [one!, two!]) {
    ends.connected(connection)
    ends.disconnected(connection, 'client')
  }
  expect(connectionsAtEnd(ends, third!)).toBe(2)
  expect(connectionsAtEnd(ends, all[3]!)).toBe(0)
  expect(connectionsAtEnd(ends, all[4]!)).toBe(1)
})
