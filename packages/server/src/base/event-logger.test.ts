import { expect, test } from 'vitest'
import { formatLine } from './event-logger.ts'

test('a line is the message, then every field as key=value', () => {
  expect(formatLine('disk: log sync is slow', { ms: 1432 })).toBe('disk: log sync is slow ms=1432')
  expect(formatLine('client: dropped', { address: '[::1]:4321', zxid: 7n, isLocal: true })).toBe(
    'client: dropped address=[::1]:4321 zxid=7 isLocal=true',
  )
  expect(formatLine('a: b', { joined: ['4', '5'] })).toBe('a: b joined=4,5')
})

test('fields without a value are left out, empty ones are not', () => {
  expect(formatLine('a: b', { no: undefined, empty: '', none: [] })).toBe('a: b empty="" none=""')
})

test('values with spaces, quotes or equals signs are quoted', () => {
  expect(formatLine('a: b', { error: 'no such file' })).toBe('a: b error="no such file"')
  expect(formatLine('a: b', { path: '/x" level=error' })).toBe('a: b path="/x\\" level=error"')
})

test('a value cannot end the line, control a terminal, or fill the log', () => {
  const line = formatLine('a: b', { path: '/x\ny\r\u001b[2J\u009b\u2028\u202e\ud800' })
  expect(line).toBe('a: b path="/x\\ny\\r\\u001b[2J\\u009b\\u2028\\u202e\\ud800"')
  expect(formatLine('a: b', { path: 'z'.repeat(1e6) }).length).toBeLessThan(2100)
})
