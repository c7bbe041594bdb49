import { expect, test } from 'vitest'
import { ChangeQueue, type Change } from './change.ts'

const change = (type: Change['type'], path: string): Change => {
  return { type, path, zxid: undefined, stat: undefined, missed: false }
}

const brief = ({ type, path, missed }: Change): string =>
  `${type} ${path}${missed ? ' missed' : ''}`

function drain(queue: ChangeQueue): string[] {
  const result: string[] = []
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) result.push(brief(next))
  return result
}

test('a node that comes, changes and goes unread leaves nothing but word of the last', () => {
  const queue = new ChangeQueue()
  for (let i = 0; i < 1000; i++) {
    queue.push(change('created', `/queue/${i}`), true)
    queue.push(change('changed', `/queue/${i}`), false)
    queue.push(change('deleted', `/queue/${i}`), false)
    expect(queue.size).toBeLessThanOrEqual(2)
  }
  expect(drain(queue)).toEqual(['deleted /queue/999 missed'])
})

test('that a node is gone which the reader knows stays to be read, however often it came back', () => {
  const queue = new ChangeQueue()
  for (let i = 0; i < 3; i++) {
    queue.push(change('deleted', '/known'), false)
    queue.push(change('created', '/known'), i > 0)
  }
  queue.push(change('deleted', '/known'), false)
  queue.push(change('created', '/new'), true)
  queue.push(change('deleted', '/new'), false)
  queue.push(change('created', '/newer'), true)
  queue.push(change('deleted', '/newer'), false)
  expect(drain(queue)).toEqual(['deleted /known missed', 'deleted /newer missed'])
})

test('a node that came and went, and came again, is there', () => {
  const queue = new ChangeQueue()
  queue.push(change('initial', '/again'), true)
  queue.push(change('deleted', '/again'), false)
  queue.push(change('created', '/again'), true)
  queue.push(change('created', '/other'), true)
  queue.push(change('deleted', '/other'), false)
  expect(drain(queue)).toEqual(['created /again missed', 'deleted /other missed'])
})

test('what was read of the last that went is not forgotten in the place of another', () => {
  const queue = new ChangeQueue()
  queue.push(change('created', '/a'), true)
  queue.push(change('deleted', '/a'), false)
  expect(drain(queue)).toEqual(['deleted /a missed'])
  queue.push(change('created', '/a'), true)
  queue.push(change('created', '/b'), true)
  queue.push(change('deleted', '/b'), false)
  expect(drain(queue)).toEqual(['created /a', 'deleted /b missed'])
})
