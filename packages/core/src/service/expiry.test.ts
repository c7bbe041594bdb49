import { expect, onTestFinished, test, vi } from 'vitest'
import { LonePeer, openAcl } from '../../test/support/lone-peer.ts'
import { Fifo } from '../base/fifo.ts'

test('the end of a session does not look through all that is pending', () => {
  const count = 3000
  const server = new LonePeer()
  for (let i = 0; i < count; i++) {
    const client = server.connect()
    client.call('create', { path: `/e${i}`, data: null, acl: openAcl, flags: 1 })
  }
  server.commit()
  server.nowMs += 60_000
  server.peer.setTime(server.nowMs, 1_700_000_000_000 + server.nowMs)
  const all = vi.spyOn(Fifo.prototype, 'all')
  onTestFinished(() => all.mockRestore())
  server.peer.tick()
  // One tick ends a part of them.
  expect(server.db.sessions.size).toBe(count)
  server.commit()
  expect(server.db.sessions.size).toBe(1000)
  server.peer.tick()
  server.commit()
  expect(server.db.sessions.size).toBe(0)
  const elements = all.mock.results.reduce((sum, { value }) => sum + (value as []).length, 0)
  expect(elements).toBeLessThan(100 * count)
  expect(server.db.tree.size).toBeLessThan(10)
})
