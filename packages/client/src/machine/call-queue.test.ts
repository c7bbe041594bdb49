import { expect, test } from 'vitest'
import { exists } from '../calls/kinds.ts'
import { Call } from './call.ts'
import { CallQueue } from './call-queue.ts'

const newCall = (path = '/'): Call =>
  new Call(exists, { path, watch: false }, path) as unknown as Call

test('calls that are over do not pile up, however many come', () => {
  const queue = new CallQueue(({ isDone }) => isDone)
  const waiting = newCall('/waiting')
  queue.push(waiting)
  let longest = 0
  for (let i = 0; i < 10_000; i++) {
    const call = newCall()
    queue.push(call)
    call.fail(new Error('given up'))
    longest = Math.max(longest, queue.length)
  }
  expect(longest).toBeLessThanOrEqual(16)
  expect(queue.shift()).toBe(waiting)
})

test('the others keep their order while the queue drops some and grows', () => {
  const queue = new CallQueue(({ isDone }) => isDone)
  const taken: Call[] = []
  const kept: Call[] = []
  for (let i = 0; i < 1000; i++) {
    const call = newCall(`/${i}`)
    queue.push(call)
    if (i % 3 > 0) call.fail(new Error('given up'))
    else kept.push(call)
    // So that the first call is not at the beginning of the buffer.
    if (i % 5 === 0) taken.push(queue.shift()!)
  }
  taken.push(...queue.takeAll())
  expect(taken.filter(({ isDone }) => !isDone)).toEqual(kept)
})

test('without a condition nothing is dropped', () => {
  const queue = new CallQueue()
  for (let i = 0; i < 100; i++) {
    const call = newCall()
    call.fail(new Error('given up'))
    queue.push(call)
  }
  expect(queue.takeAll()).toHaveLength(100)
})
