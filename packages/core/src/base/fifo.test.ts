import { expect, test } from 'vitest'
import { Fifo } from './fifo.ts'

test('elements come out in the order they went in, through any number of rounds', () => {
  const fifo = new Fifo<number>()
  let [next, expected] = [0, 0]
  for (let round = 1; round < 3000; round++) {
    for (let i = 0; i < round % 7; i++) fifo.push(next++)
    for (let i = 0; i < round % 5 && fifo.length > 0; i++) {
      expect(fifo.first).toBe(expected++)
      fifo.shift()
    }
    expect(fifo.length).toBe(next - expected)
  }
  expect(fifo.last).toBe(next - 1)
  expect(fifo.all()).toEqual(Array.from({ length: next - expected }, (_, i) => expected + i))
  while (fifo.length > 0) fifo.shift()
  expect([fifo.first, fifo.last, fifo.all()]).toEqual([undefined, undefined, []])
})

test('the newest element can be popped, and each can be read', () => {
  const fifo = new Fifo<number>()
  const expected: number[] = []
  for (let i = 0; i < 2000; i++) {
    fifo.push(i)
    expected.push(i)
    if (i % 3 === 0) expect(fifo.pop()).toBe(expected.pop())
    if (i % 5 === 0) expect(fifo.shift()).toBe(expected.shift())
    expect([fifo.length, fifo.at(0), fifo.at(7), fifo.at(-1), fifo.at(fifo.length)]).toEqual([
      expected.length,
      expected[0],
      expected[7],
      undefined,
      undefined,
    ])
  }
  fifo.clear()
  expect([fifo.length, fifo.first, fifo.pop(), fifo.shift()]).toEqual([0, ...Array(3)])
})

test('emptying a long queue takes no longer per element than a short one', () => {
  const fifo = new Fifo<number>()
  for (let i = 0; i < 1_000_000; i++) fifo.push(i)
  // If each shift moved all remaining elements, this would take minutes.
  while (fifo.length > 0) fifo.shift()
  expect(fifo.first).toBeUndefined()
})
