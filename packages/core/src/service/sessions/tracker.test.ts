import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SessionTracker } from './tracker.ts'

const tickMs = 2000

test('a silent session expires between its timeout and one tick more', () => {
  const starts = fc.integer({ min: 0, max: 1_000_000 })
  const timeouts = fc.integer({ min: 1, max: 60_000 })
  fc.assert(
    fc.property(starts, timeouts, fc.integer({ min: 1, max: 500 }), (start, timeoutMs, stepMs) => {
      const tracker = new SessionTracker(tickMs)
      tracker.add(1n, timeoutMs, start)
      let now = start
      while (tracker.expire(now).length === 0) now += stepMs
      expect(now - start).toBeGreaterThan(timeoutMs)
      expect(now - start).toBeLessThanOrEqual(timeoutMs + tickMs + stepMs)
    }),
  )
})

test('a session is found as long as it is there, however often it was asked for', () => {
  const tracker = new SessionTracker(tickMs)
  const [first, second] = [tracker.add(1n, 4000, 0), tracker.add(2n, 4000, 0)]
  const found = (): unknown[] => [1n, 1n, 2n, 2n, 1n].map((id) => tracker.get(id))
  expect(found()).toEqual([first, first, second, second, first])
  tracker.remove(1n)
  expect(found()).toEqual([undefined, undefined, second, second, undefined])
  const again = tracker.add(1n, 4000, 0)
  expect(again).not.toBe(first)
  expect(tracker.get(1n)).toBe(again)
})

test('expiry is at the end of a tick', () => {
  const tracker = new SessionTracker(tickMs)
  expect(tracker.add(1n, 4000, 0).expiresAtMs).toBe(6000)
  expect(tracker.add(2n, 4000, 1999).expiresAtMs).toBe(6000)
  expect(tracker.add(3n, 4000, 2000).expiresAtMs).toBe(8000)
  expect(tracker.expire(5999)).toEqual([])
  expect(tracker.expire(6000).map(({ id }) => id)).toEqual([1n, 2n])
  expect(tracker.expire(7999)).toEqual([])
  expect(tracker.expire(8000).map(({ id }) => id)).toEqual([3n])
})

test('whoever is heard of in time lives on', () => {
  const tracker = new SessionTracker(tickMs)
  const session = tracker.add(1n, 4000, 0)
  for (let now = 0; now < 100_000; now += 3000) {
    expect(tracker.expire(now)).toEqual([])
    tracker.touch(session, 4000, now)
  }
})

test('any history of touches ends as the last touch of each session says', () => {
  const step = fc.tuple(
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 3000 }),
    fc.constantFrom(4000, 5000, 10_000, 40_000),
    fc.constantFrom('touch', 'touch', 'touch', 'remove'),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const tracker = new SessionTracker(tickMs)
      const deadlines = new Map<bigint, number>()
      let now = 0
      for (const [index, passed, timeoutMs, what] of steps) {
        now += passed
        const expired = new Set(tracker.expire(now).map(({ id }) => id))
        for (const [id, deadline] of deadlines) {
          expect(expired.has(id), `session ${id} at ${now}`).toBe(deadline <= now)
        }
        for (const id of expired) {
          tracker.remove(id)
          deadlines.delete(id)
        }
        const id = BigInt(index)
        if (what === 'remove') {
          tracker.remove(id)
          deadlines.delete(id)
        } else {
          tracker.add(id, timeoutMs, now)
          deadlines.set(id, (Math.floor((now + timeoutMs) / tickMs) + 1) * tickMs)
        }
        expect(tracker.size).toBe(deadlines.size)
      }
      const shown = tracker
        .byExpiry()
        .flatMap(([time, ids]) => ids.map((id) => [id, time] as const))
      expect(new Map(shown)).toEqual(deadlines)
    }),
  )
})

test('a session comes to its end once, and stays known until it is removed', () => {
  const tracker = new SessionTracker(tickMs)
  const session = tracker.add(1n, 4000, 0)
  expect(tracker.expire(6000)).toEqual([session])
  expect(tracker.expire(60_000)).toEqual([])
  expect(tracker.get(1n)).toBe(session)
  tracker.remove(1n)
  expect(tracker.get(1n)).toBeUndefined()
  expect(tracker.size).toBe(0)
})

test('touching a session that is gone does not bring it back', () => {
  const tracker = new SessionTracker(tickMs)
  const session = tracker.add(1n, 4000, 0)
  tracker.remove(1n)
  tracker.touch(session, 4000, 50_000)
  expect(tracker.expire(1_000_000)).toEqual([])
  expect([...tracker.all()]).toEqual([])
})

test('a newly negotiated timeout replaces the old one, longer or shorter', () => {
  const tracker = new SessionTracker(tickMs)
  const session = tracker.add(1n, 4000, 0)
  tracker.touch(session, 40_000, 0)
  expect(tracker.expire(41_999)).toEqual([])
  tracker.touch(session, 4000, 41_999)
  expect(session.timeoutMs).toBe(4000)
  expect(tracker.expire(46_000)).toEqual([session])
})

test('adding a known session touches it', () => {
  const tracker = new SessionTracker(tickMs)
  const session = tracker.add(1n, 4000, 0)
  expect(tracker.add(1n, 4000, 10_000)).toBe(session)
  expect(tracker.byExpiry()).toEqual([[16_000, [1n]]])
})

test('any number of sessions may expire in one tick, and part of them at a time', () => {
  const count = 200_000
  const filled = (): SessionTracker => {
    const tracker = new SessionTracker(tickMs)
    for (let id = 1n; id <= count; id++) tracker.add(id, 30_000, 0)
    return tracker
  }
  expect(filled().expire(40_000)).toHaveLength(count)

  const tracker = filled()
  const ids = new Set<bigint>()
  for (let left = count; left > 0; left -= 30_000) {
    const expired = tracker.expire(40_000, 30_000)
    expect(expired).toHaveLength(Math.min(left, 30_000))
    for (const { id } of expired) ids.add(id)
  }
  expect(ids.size).toBe(count)
  expect(tracker.expire(40_000)).toEqual([])
})

test('a session that is heard of before its turn to expire lives on', () => {
  const tracker = new SessionTracker(tickMs)
  const sessions = [1n, 2n, 3n].map((id) => tracker.add(id, 30_000, 0))
  expect(tracker.expire(40_000, 2).map(({ id }) => id)).toEqual([1n, 2n])
  tracker.touch(sessions[2]!, 30_000, 40_000)
  expect(tracker.expire(40_000)).toEqual([])
  expect(tracker.expire(80_000).map(({ id }) => id)).toEqual([3n])
})
