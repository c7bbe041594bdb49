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

test('of unread nodes that come, change and go, only the last deletion stays', () => {
  const queue = new ChangeQueue()
  for (let i = 0; i < 1000; i++) {
    queue.push(change('created', `/queue/${i}`), true)
    queue.push(change('changed', `/queue/${i}`), false)
    queue.push(change('deleted', `/queue/${i}`), false)
    expect(queue.size).toBeLessThanOrEqual(2)
  }
  expect(drain(queue)).toEqual(['deleted /queue/999 missed'])
})

test('the deletion of a node that the reader knows stays unread, however often it comes back', () => {
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

test('a node that came, went and came again exists', () => {
  const queue = new ChangeQueue()
  queue.push(change('initial', '/again'), true)
  queue.push(change('deleted', '/again'), false)
  queue.push(change('created', '/again'), true)
  queue.push(change('created', '/other'), true)
  queue.push(change('deleted', '/other'), false)
  expect(drain(queue)).toEqual(['created /again missed', 'deleted /other missed'])
})

test('reading the last deletion does not confuse it with another one', () => {
  const queue = new ChangeQueue()
  queue.push(change('created', '/a'), true)
  queue.push(change('deleted', '/a'), false)
  expect(drain(queue)).toEqual(['deleted /a missed'])
  queue.push(change('created', '/a'), true)
  queue.push(change('created', '/b'), true)
  queue.push(change('deleted', '/b'), false)
  expect(drain(queue)).toEqual(['created /a', 'deleted /b missed'])
})
