import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Newcomers } from './newcomers.ts'

test('the oldest newcomer gives way, and those that are known do not count', () => {
  let closed = 0
  const newcomers = new Newcomers(2, () => closed++)
  const [known, oldest, second, third] = [new Socket(), new Socket(), new Socket(), new Socket()]
  newcomers.add(known!)
  newcomers.delete(known!)
  for (const socket of [oldest!, second!, third!]) newcomers.add(socket)
  expect([known, oldest, second, third].map((socket) => socket!.destroyed)).toEqual([
    false,
    true,
    false,
    false,
  ])
  expect([newcomers.size, closed]).toEqual([2, 1])
})

test('a connection that ends is not a newcomer any more', async () => {
  const newcomers = new Newcomers(2, () => {})
  const socket = new Socket()
  newcomers.add(socket)
  await new Promise((resolve) => socket.once('close', resolve).destroy())
  expect(newcomers.size).toBe(0)
})
