import { expect, test } from 'vitest'
import { longMs, sorted, type Contender, type Line } from './lines.ts'

const nowMs = Date.parse('2026-01-01T10:00:00Z')
const contender = (session: string, holds: boolean, waitedMs: number): Contender => ({
  node: `/x/${session}`,
  holds,
  mode: null,
  id: session,
  session,
  token: '1',
  since: new Date(nowMs - waitedMs).toISOString(),
  library: 'kazoo',
})
const line = (path: string, kind: string, ...waitedMs: readonly number[]): Line => ({
  path,
  kind,
  total: waitedMs.length,
  hidden: 0,
  contenders: waitedMs.map((ms, at) => contender(`0x${at}`, at === 0, ms)),
})

test('deadlocks come first, then stuck ones, then those where somebody waits', () => {
  const lines = [
    line('/calm', 'lock', 10 * longMs),
    line('/dead', 'lock', 10, 5),
    line('/election', 'election', 10 * longMs, 10 * longMs),
    line('/short', 'lock', 10 * longMs, 5),
    line('/stuck', 'read/write lock', 10 * longMs, longMs + 1),
  ]
  const deadlocks = [[{ waiter: '0x1', holder: '0x0', path: '/dead' }]]
  expect(sorted(lines, deadlocks, nowMs).map((each) => [each.line.path, each.standing])).toEqual([
    ['/dead', 'deadlock'],
    ['/stuck', 'stuck'],
    ['/short', 'waiting'],
    ['/calm', 'calm'],
    ['/election', 'calm'],
  ])
})
