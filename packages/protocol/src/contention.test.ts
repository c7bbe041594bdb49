import { expect, test } from 'vitest'
import {
  candidatesAmong,
  deadlocksIn,
  groupMember,
  isQueueItem,
  lineOf,
  queueItemsAmong,
  waitsIn,
  type Candidate,
  type Line,
} from './contention.ts'
import type { Stat } from './records/common.ts'

/** A line whose contenders belong to these sessions, in order of arrival. */
function line(path: string, sessions: readonly number[], mark = 'lock-'): Line {
  const names = sessions.map((_, at) => `_c_${at}-${mark}${String(at).padStart(10, '0')}`)
  return lineOf(path, standing(candidatesAmong(names), sessions))!
}

function standing(candidates: readonly Candidate[], sessions: readonly number[]) {
  return candidates.map((candidate, at) => {
    const stat = { czxid: BigInt(at + 1), ephemeralOwner: BigInt(sessions[at]!), ctime: 0n } as Stat
    return { ...candidate, stat, id: '' }
  })
}

const circlesOf = (...lines: readonly Line[]): number[][] =>
  deadlocksIn(waitsIn(lines)).map((circle) => circle.map(({ waiter }) => Number(waiter)))

test('two sessions that hold what the other waits for are a deadlock', () => {
  const [[first, second] = []] = deadlocksIn(waitsIn([line('/a', [1, 2]), line('/b', [2, 1])]))
  expect(first).toEqual({ waiter: 2n, holder: 1n, path: '/a' })
  expect(second).toEqual({ waiter: 1n, holder: 2n, path: '/b' })
})

test('a circle of three is one deadlock, and whoever waits outside is not part of it', () => {
  const circles = circlesOf(line('/a', [1, 2, 9]), line('/b', [2, 3]), line('/c', [3, 1, 8]))
  expect(circles).toHaveLength(1)
  expect(new Set(circles[0])).toEqual(new Set([1, 2, 3]))
})

test('two deadlocks apart from each other are both found', () => {
  const lines = [line('/a', [1, 2]), line('/b', [2, 1]), line('/c', [5, 6]), line('/d', [6, 5])]
  expect(circlesOf(...lines)).toHaveLength(2)
})

test('waiting without a circle is no deadlock, nor is waiting for oneself', () => {
  expect(circlesOf(line('/a', [1, 2, 3]), line('/b', [2, 3]))).toEqual([])
  expect(circlesOf(line('/a', [1, 1]))).toEqual([])
})

test('a circle through readers of a read/write lock is one', () => {
  const names = ['_c_1-__READ__0000000000', '_c_2-__READ__0000000001', '_c_3-__WRIT__0000000002']
  const shared = lineOf('/rw', standing(candidatesAmong(names), [1, 2, 3]))!
  expect(shared.contenders.map(({ holds }) => holds)).toEqual([true, true, false])
  expect(circlesOf(shared, line('/x', [3, 2]))).toHaveLength(1)
})

test('who waits to lead goes on working: an election makes no deadlock', () => {
  expect(circlesOf(line('/a', [1, 2], 'latch-'), line('/b', [2, 1], 'latch-'))).toEqual([])
})

test('queues are known by their items, in the order in which they are taken', () => {
  for (const name of ['queue-0000000007', 'qn-0000000001', 'entry-100-0000000003']) {
    expect(isQueueItem(name)).toBe(true)
  }
  expect(isQueueItem('lock-0000000001')).toBe(false)
  expect(isQueueItem('entry-list')).toBe(false)
  const items = queueItemsAmong(['entry-200-0000000001', 'entry-100-0000000002', 'other'])
  expect(items.map(({ name }) => name)).toEqual(['entry-100-0000000002', 'entry-200-0000000001'])
  const queue = lineOf('/q', standing(items, [0, 0]))!
  expect(queue.kind).toBe('queue')
  expect(queue.contenders.map(({ node, holds }) => [node, holds])).toEqual([
    ['/q/entry-100-0000000002', false],
    ['/q/entry-200-0000000001', false],
  ])
})

test('all members of a group are in it', () => {
  const group = lineOf('/g', standing([groupMember('a'), groupMember('b')], [1, 2]))!
  expect(group.kind).toBe('group')
  expect(group.contenders.every(({ holds }) => holds)).toBe(true)
})
