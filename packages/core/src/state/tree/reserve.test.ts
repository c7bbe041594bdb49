import { expect, test } from 'vitest'
import { Reserve } from './reserve.ts'

interface Touching {
  readonly memory: Uint8Array
  readonly done: () => void
}

function reserveOf(bytes: number): { reserve: Reserve; touching: Touching[] } {
  const touching: Touching[] = []
  const reserve = new Reserve(bytes, (memory, done) => touching.push({ memory, done }))
  return { reserve, touching }
}

test('without a host that touches memory, it is allocated on demand', () => {
  const reserve = new Reserve(64, undefined)
  const first = reserve.take()
  const second = reserve.take()
  expect([first.byteLength, second.byteLength]).toEqual([64, 64])
  expect(second).not.toBe(first)
})

test('the next piece is touched once the last one is taken, and then handed out', () => {
  const { reserve, touching } = reserveOf(64)
  expect(touching).toHaveLength(0)
  const first = reserve.take()
  expect(touching).toHaveLength(1)
  const [{ memory, done }] = touching as [Touching]
  expect(memory).toHaveLength(64)
  expect(memory.buffer).not.toBe(first)
  done()
  expect(reserve.take()).toBe(memory.buffer)
  expect(touching).toHaveLength(2)
})

test('a piece is not handed out while it is being touched', () => {
  const { reserve, touching } = reserveOf(64)
  reserve.take()
  const [{ memory, done }] = touching as [Touching]
  expect(reserve.take()).not.toBe(memory.buffer)
  expect(reserve.take()).not.toBe(memory.buffer)
  expect(touching, 'one at a time').toHaveLength(1)
  done()
  expect(reserve.take()).toBe(memory.buffer)
  expect(reserve.take(), 'each only once').not.toBe(memory.buffer)
})
