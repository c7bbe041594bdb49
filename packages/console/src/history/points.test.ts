import { expect, test } from 'vitest'
import { compareZxids, pointIn, pointText, zxidBefore } from './points.ts'

const now = Date.parse('2026-03-04T12:00:00.000Z')

test('points are read as people type them, in UTC', () => {
  expect(pointIn('0xAF', now)).toBe('0xaf')
  expect(pointIn('2026-01-31', now)).toBe('2026-01-31T00:00:00.000Z')
  expect(pointIn(' 2026-01-31 08:15 ', now)).toBe('2026-01-31T08:15:00.000Z')
  expect(pointIn('2026-01-31T08:15:30.5+01:00', now)).toBe('2026-01-31T07:15:30.500Z')
  expect(pointIn('2026-01-31 08:15 UTC', now)).toBe('2026-01-31T08:15:00.000Z')
  expect(pointIn('11:30', now)).toBe('2026-03-04T11:30:00.000Z')
  expect(pointIn('8:05', now)).toBe('2026-03-04T08:05:00.000Z')
  expect(pointIn('23:59:59', now)).toBe('2026-03-03T23:59:59.000Z')
  expect(pointIn('10 min ago', now)).toBe('2026-03-04T11:50:00.000Z')
  expect(pointIn('2h', now)).toBe('2026-03-04T10:00:00.000Z')
  for (const nonsense of ['', 'yesterday', '0x', '0xzz', '31.1.2026', '2026-13-45', '25:99'])
    expect([nonsense, pointIn(nonsense, now)]).toEqual([nonsense, undefined])
})

test('a point that was read is written so that it reads the same again', () => {
  for (const text of ['0xaf', '2026-01-31 08:15:30.500', '2026-01-31 08:15:00'])
    expect(pointText(pointIn(text, now)!)).toBe(text)
})

test('zxids are compared as numbers', () => {
  expect(['0x10', '0x9', '0x100000000', '0xff'].toSorted(compareZxids)).toEqual([
    '0x9',
    '0x10',
    '0xff',
    '0x100000000',
  ])
  expect(zxidBefore('0x100000000')).toBe('0xffffffff')
})
