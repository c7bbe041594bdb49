import { expect, test } from 'vitest'
import { AssertionError } from '../../base/assert.ts'
import { assertLegalChange, type RoleName } from './role.ts'

const working: readonly RoleName[] = ['leading', 'following', 'observing']

test.each(working)('a server that was %s leaves that role before it does anything else', (role) => {
  for (const next of [...working, 'looking', 'dialing', 'pausing', 'waitingForRoom'] as const) {
    expect(() => assertLegalChange(role, next)).toThrow(AssertionError)
  }
  expect(() => assertLegalChange(role, 'leaving')).not.toThrow()
})

test.each(['following', 'observing'] as const)('%s begins with a connection', (role) => {
  for (const before of ['looking', 'leaving', 'pausing', 'leading'] as const) {
    expect(() => assertLegalChange(before, role)).toThrow(AssertionError)
  }
  expect(() => assertLegalChange('dialing', role)).not.toThrow()
})

test('a full disk leads to an election and not to an appointment', () => {
  expect(() => assertLegalChange('waitingForRoom', 'leading')).toThrow(AssertionError)
  expect(() => assertLegalChange('waitingForRoom', 'looking')).not.toThrow()
})

test('a stopped server begins nothing', () => {
  for (const next of [...working, 'looking', 'leaving', 'stopped'] as const) {
    expect(() => assertLegalChange('stopped', next)).toThrow('cannot begin')
  }
})
