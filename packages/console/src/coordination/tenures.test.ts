import { expect, test } from 'vitest'
import { tenuresIn, type Coming } from './tenures.ts'

const at = (second: number, kind: string, path: string, more: Partial<Coming> = {}): Coming => ({
  kind,
  time: new Date(second * 1000).toISOString(),
  path,
  session: `0x${path.at(-1)}`,
  cause: null,
  ...more,
})

test('a lock goes to the next in line when its holder leaves', () => {
  const changes = [
    at(1, 'create', '/l/1'),
    at(2, 'create', '/l/2'),
    at(3, 'create', '/l/3'),
    at(10, 'delete', '/l/2'),
    at(20, 'delete', '/l/1', { cause: 'sessionEnd' }),
  ]
  const current = [{ node: '/l/3', session: '0x3', id: null }]
  expect(tenuresIn(changes, current)).toMatchObject([
    { node: '/l/3', fromMs: 20_000, toMs: undefined, waitedMs: 17_000, isLost: false },
    { node: '/l/1', fromMs: 1000, toMs: 20_000, waitedMs: 0, isLost: true },
  ])
})

test('a holder that was there before all that is known has no beginning', () => {
  const changes = [at(5, 'create', '/l/2'), at(9, 'delete', '/l/1'), at(12, 'delete', '/l/2')]
  expect(tenuresIn(changes, [])).toMatchObject([
    { node: '/l/2', fromMs: 9000, toMs: 12_000, waitedMs: 4000 },
    { node: '/l/1', toMs: 9000, waitedMs: undefined },
  ])
})

test('a lock that was free in between has a pause', () => {
  const changes = [at(1, 'create', '/l/1'), at(2, 'delete', '/l/1'), at(5, 'create', '/l/2')]
  expect(tenuresIn(changes, []).map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
    [5000, undefined],
    [1000, 2000],
  ])
})
