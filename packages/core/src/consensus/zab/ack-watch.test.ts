import { expect, test } from 'vitest'
import { AckWatch } from './ack-watch.ts'

test('nothing is owed before something is sent, nor after all of it is acknowledged', () => {
  const watch = new AckWatch()
  expect(watch.owedForMs(1000)).toBe(0)
  watch.sent(1n, 1000)
  watch.sent(2n, 1100)
  watch.sent(3n, 1200)
  watch.acknowledged(3n)
  expect(watch.owedForMs(5000)).toBe(0)
})

test('what is owed is as old as the oldest that was sent', () => {
  const watch = new AckWatch()
  watch.sent(1n, 1000)
  watch.sent(2n, 1900)
  expect(watch.owedForMs(2000)).toBe(1000)
})

test('a learner that goes on acknowledging is never as late as its oldest', () => {
  const watch = new AckWatch()
  watch.sent(1n, 1000)
  watch.sent(2n, 1100)
  watch.sent(3n, 1200)
  watch.acknowledged(1n)
  expect(watch.owedForMs(2000)).toBe(800)
  watch.acknowledged(2n)
  expect(watch.owedForMs(2000)).toBe(800)
  watch.acknowledged(3n)
  expect(watch.owedForMs(2000)).toBe(0)
})

test('an acknowledgement of what was not sent to it is none', () => {
  const watch = new AckWatch()
  watch.sent(5n, 1000)
  watch.acknowledged(4n)
  expect(watch.owedForMs(1500)).toBe(500)
})
