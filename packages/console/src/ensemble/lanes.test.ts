import { expect, test } from 'vitest'
import { laneOf, reignsIn, type Entry } from './lanes.ts'

const started = '2026-01-01T10:00:00.000Z'
const now = '2026-01-01T10:10:00.000Z'
const nowMs = Date.parse(now)
const at = (seconds: number, kind: string, more: Partial<Entry> = {}): Entry => ({
  time: new Date(Date.parse(started) + seconds * 1000).toISOString(),
  kind,
  leader: null,
  epoch: null,
  text: kind,
  ...more,
})

const first = [
  at(1, 'looking'),
  at(2, 'elected', { leader: '1' }),
  at(3, 'leading', { leader: '1', epoch: 1 }),
  at(60, 'handingOver'),
  at(61, 'roleEnded'),
  at(61, 'looking'),
  at(62, 'takingOver', { leader: '2' }),
  at(63, 'following', { leader: '2', epoch: 2 }),
]
const second = [
  at(1, 'looking'),
  at(3, 'takingOver', { leader: '1' }),
  at(4, 'following', { leader: '1', epoch: 1 }),
  at(61, 'roleEnded'),
  at(61.5, 'leading', { leader: '2', epoch: 2 }),
]

test('a lane goes from role to role, up to now', () => {
  const { stretches } = laneOf('1', { started, now, entries: first }, nowMs)
  expect(stretches.map(({ role, fromMs, toMs }) => [role, (toMs - fromMs) / 1000])).toEqual([
    ['starting', 1],
    ['looking', 2],
    ['leading', 58],
    ['looking', 1],
    ['synchronizing', 1],
    ['following', 537],
  ])
})

test('the clock of a server is set right by when it answered', () => {
  const lane = laneOf('1', { started, now, entries: first }, nowMs + 30_000)
  expect(lane.startedMs).toBe(Date.parse(started) + 30_000)
  expect(lane.stretches.at(-1)!.toMs).toBe(nowMs + 30_000)
})

test('reigns tell hand-overs, and how long nobody led', () => {
  const lanes = [
    laneOf('1', { started, now, entries: first }, nowMs),
    laneOf('2', { started, now, entries: second }, nowMs),
  ]
  const [last, before] = reignsIn(lanes, nowMs)
  expect(last).toMatchObject({ leader: '2', epoch: 2, gapMs: 500, isHandOver: true })
  expect(last!.toMs).toBeUndefined()
  expect(before).toMatchObject({ leader: '1', epoch: 1, isHandOver: false })
  expect(before!.gapMs).toBeUndefined()
})

test('a leader that is gone is known by its followers, and led no longer than they say', () => {
  const lost = [...second.slice(0, 3), at(300, 'roleEnded'), at(300, 'looking')]
  const lanes = [laneOf('2', { started, now, entries: lost }, nowMs)]
  expect(reignsIn(lanes, nowMs)).toMatchObject([
    { leader: '1', epoch: 1, toMs: Date.parse(started) + 300_000 },
  ])
})

test('whether a leader that was restarted since gave its role away is not known', () => {
  const restarted = new Date(Date.parse(started) + 100_000).toISOString()
  const lanes = [
    laneOf('1', { started: restarted, now, entries: [] }, nowMs),
    laneOf('2', { started, now, entries: second }, nowMs),
  ]
  expect(reignsIn(lanes, nowMs)[0]).toMatchObject({ leader: '2', isHandOver: undefined })
})
