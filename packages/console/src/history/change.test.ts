import { expect, test } from 'vitest'
import { chosenOf, merged, onePerTransaction, trimmed, type PastChange } from './change.ts'

const change = (zxid: string, part = 0): PastChange => ({
  zxid,
  time: '2026-01-31T08:00:00.000Z',
  kind: 'set',
  part,
  parts: 1,
  path: '/a',
  version: 1,
  dataLength: 0,
  nodeKind: null,
  ttlMs: null,
  cause: null,
  timeoutMs: null,
  session: null,
  client: null,
})
const zxids = (changes: readonly PastChange[]): string[] =>
  changes.map(({ zxid, part }) => `${zxid}.${part}`)

test('pages and live changes come together, each once, the newest first', () => {
  const page = [change('0x20', 1), change('0x20'), change('0x9')]
  const live = [change('0x100000001'), change('0x20', 1)]
  expect(zxids(merged(page, live))).toEqual(['0x100000001.0', '0x20.1', '0x20.0', '0x9.0'])
})

test('a list that grew too long is cut between two transactions', () => {
  const changes = [change('0x4'), change('0x3', 1), change('0x3'), change('0x2')]
  expect(trimmed(changes, 2)).toEqual({ changes: changes.slice(0, 1), next: '0x3' })
  expect(trimmed(changes, 3)).toEqual({ changes: changes.slice(0, 3), next: '0x2' })
  expect(trimmed(changes, 4)).toEqual({ changes, next: undefined })
})

test('the last part of a transaction is the version', () => {
  expect(zxids(onePerTransaction([change('0x3', 0), change('0x3', 2), change('0x2')]))).toEqual([
    '0x3.2',
    '0x2.0',
  ])
})

test('the newest version is compared with the one before, unless others are chosen', () => {
  const list = [change('0x4'), change('0x3'), change('0x2')]
  expect(chosenOf(list, null, null)).toEqual({ newer: 0, older: 1 })
  expect(chosenOf(list, '0x3', null)).toEqual({ newer: 1, older: 2 })
  expect(chosenOf(list, null, '0x2')).toEqual({ newer: 0, older: 2 })
  // The older one must be older.
  expect(chosenOf(list, '0x3', '0x4')).toEqual({ newer: 1, older: 2 })
})
