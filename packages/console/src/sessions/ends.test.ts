import { expect, test } from 'vitest'
import { courseOf, together, type SessionEnd } from './ends.ts'

const end: SessionEnd = {
  id: '0x1',
  zxid: '0x10',
  time: '2026-01-31T08:00:10.000Z',
  verdict: 'elsewhere',
  seen: [],
  unknown: [],
  timeoutMs: 4000,
  isDecidedHere: true,
  lastHeardMsAgo: 5000,
  lastHeardIsExact: false,
  heldBy: '2',
  moves: 0,
  connections: [],
  stalls: [],
  roles: [],
}
const held: SessionEnd = {
  ...end,
  verdict: 'disconnected',
  isDecidedHere: false,
  connections: [
    {
      address: '10.0.0.1',
      opened: '2026-01-31T07:00:00.000Z',
      closed: '2026-01-31T08:00:06.000Z',
      end: 'broken',
      requests: 7,
      longestGapMs: 900,
    },
  ],
  stalls: [{ ended: '2026-01-31T08:00:08.000Z', ms: 800 }],
  roles: [{ time: '2026-01-31T08:00:09.000Z', role: 'following' }],
}

test('what the servers saw of a session comes together, the server of its client first', () => {
  const later = { ...end, id: '0x2', time: '2026-01-31T09:00:00.000Z' }
  const ended = together([
    { server: '1', end },
    { server: '2', end: held },
    { server: '1', end: later },
  ])
  expect(ended.map(({ id, verdict }) => [id, verdict])).toEqual([
    ['0x2', 'elsewhere'],
    ['0x1', 'disconnected'],
  ])
  expect(ended[1]!.reports.map(({ server }) => server)).toEqual(['2', '1'])
})

test('the last moments of a session are laid out up to its end', () => {
  const { fromMs, toMs, bars, marks } = courseOf(held)
  expect(toMs - fromMs).toBe(8000)
  expect(bars).toEqual([
    { kind: 'connection', from: 0, to: 0.5, text: 'connection from 10.0.0.1: it broke' },
    { kind: 'stall', from: 0.65, to: 0.75, text: 'the server stood still for 800 ms' },
  ])
  expect(marks).toEqual([
    { kind: 'heard', at: 0.375, text: 'last heard' },
    { kind: 'role', at: 0.875, text: 'the server became following' },
  ])
})

test('a connection that ended long before is left out', () => {
  const old = { ...held.connections[0]!, closed: '2026-01-31T07:30:00.000Z' }
  expect(courseOf({ ...held, connections: [old], stalls: [] }).bars).toEqual([])
})
