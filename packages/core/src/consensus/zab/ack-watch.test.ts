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

test('the age of an owed ACK is that of the oldest proposal', () => {
  const watch = new AckWatch()
  watch.sent(1n, 1000)
  watch.sent(2n, 1900)
  expect(watch.owedForMs(2000)).toBe(1000)
})

test('a learner that keeps acknowledging is never as late as its oldest proposal', () => {
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

test('an ACK of a proposal that was not sent to it is ignored', () => {
  const watch = new AckWatch()
  watch.sent(5n, 1000)
  watch.acknowledged(4n)
  expect(watch.owedForMs(1500)).toBe(500)
})
