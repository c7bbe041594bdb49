import { expect, test } from 'vitest'
import { ClientRow, renderRows, sequentialTarget } from './rows.ts'

function row(isMoreBetter: boolean, figures: Readonly<Record<string, readonly number[]>>) {
  const made = new ClientRow('get', 'op/s', isMoreBetter, sequentialTarget)
  for (const [name, values] of Object.entries(figures))
    for (const value of values) made.add(name, value)
  return made
}

test('ours is compared with the better of those from npm, by medians', () => {
  const figures = {
    zabra: [90, 100, 1000],
    'node-zookeeper-client': [40],
    zookeeper: [10],
    java: [80],
  }
  expect(row(true, figures).ratioToNpm).toBe(2.5)
  expect(row(false, figures).ratioToNpm).toBe(10)
})

test('a target is missed where there is nothing to compare with', () => {
  expect(row(true, { zabra: [100], zookeeper: [40] }).isMissed).toBe(false)
  expect(row(true, { zabra: [100], zookeeper: [60] }).isMissed).toBe(true)
  expect(row(true, { zabra: [100] }).isMissed).toBe(true)
})

test('where a bare socket gets no more out of the server, no client can be asked to', () => {
  const figures = { zabra: [96], zookeeper: [60], socket: [100] }
  expect(row(true, figures).isMissed).toBe(true)
  const pipelined = new ClientRow('create', 'op/s', true, sequentialTarget, true)
  for (const [name, values] of Object.entries(figures)) pipelined.add(name, values[0]!)
  expect([pipelined.isMissed, pipelined.verdict]).toEqual([false, 'as much as the server can'])
  for (let i = 0; i < 2; i++) pipelined.add('socket', 110)
  expect([pipelined.isMissed, pipelined.verdict]).toEqual([true, '**no**'])
})

test('a table has the ratios, and says whether the target is met', () => {
  const figures = { zabra: [100], zookeeper: [60], java: [50] }
  const table = renderRows('Speed', [row(true, figures)], ['zabra', 'zookeeper', 'java'])
  expect(table).toContain('| get | op/s | 100 | 60.0 | 50.0 | 1.67 | 2.00 | >= 2 | **no** |')
})
