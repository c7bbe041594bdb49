import { expect, test } from 'vitest'
import { parseOptions } from './options.ts'

test('all clients take part unless some are named, ours first', () => {
  expect(parseOptions([]).clients[0]).toBe('zabra')
  expect(parseOptions(['--clients', 'java,zabra']).clients).toEqual(['java', 'zabra'])
})

test('unknown names are errors', () => {
  expect(() => parseOptions(['--clients', 'zabra,perl'])).toThrow('no client perl')
  expect(() => parseOptions(['--server', 'etcd'])).toThrow('no such server: etcd')
  expect(() => parseOptions(['--rounds', 'some'])).toThrow('--rounds takes a positive number')
})

test('the folder of another clone is a client', () => {
  expect(parseOptions(['--clients', '../before/,zabra']).clients).toEqual(['../before/', 'zabra'])
})
