import { expect, test } from 'vitest'
import { layoutOf, sideOf, textOf } from './graph.ts'

const wait = (waiter: string, holder: string, path = '/lock') => ({ waiter, holder, path })
const columnsOf = (layout: ReturnType<typeof layoutOf>) =>
  Object.fromEntries(layout.places.map(({ session, column }) => [session, column]))

test('waiters are left of the holder they wait for', () => {
  const layout = layoutOf([wait('a', 'b'), wait('b', 'c'), wait('d', 'c')], [])
  expect(columnsOf(layout)).toEqual({ a: 0, b: 1, c: 2, d: 1 })
  expect(layout).toMatchObject({ columns: 3, rows: 2 })
})

test('a circle has a column of its own, and its arrows are marked', () => {
  const circle = [wait('a', 'b', '/one'), wait('b', 'a', '/two')]
  const layout = layoutOf([...circle, wait('c', 'a', '/one')], [circle])
  expect(columnsOf(layout)).toEqual({ a: 1, b: 1, c: 0 })
  expect(
    layout.arrows.map(({ from, to, isInCircle }) => [from.session, to.session, isInCircle]),
  ).toEqual([
    ['a', 'b', true],
    ['b', 'a', true],
    ['c', 'a', false],
  ])
})

test('waits of one session for another are one arrow with all paths', () => {
  const layout = layoutOf([wait('a', 'b', '/one'), wait('a', 'b', '/two')], [])
  expect(layout.arrows).toMatchObject([{ paths: ['/one', '/two'] }])
})

test('a circle that is not named ends the search all the same', () => {
  expect(layoutOf([wait('a', 'b'), wait('b', 'a')], []).places).toHaveLength(2)
})

test('arrows of a circle have room for what they say', () => {
  const circle = [wait('a', 'b', '/election/scheduler'), wait('b', 'a', '/locks/report')]
  const { arrows } = layoutOf(circle, [circle])
  expect(arrows.map(textOf)).toEqual(['…ection/scheduler', '/locks/report'])
  expect(sideOf(arrows)).toBeGreaterThan(38 + 17 * 7)
  expect(sideOf([])).toBe(104)
})
