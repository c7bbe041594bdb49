import { expect, test } from 'vitest'
import { parseOptions } from './options.ts'
import { defaultScenarios } from './scenarios.ts'

test('without arguments every scenario that has a target runs, and nothing else', () => {
  expect(parseOptions([])).toMatchObject({ scenarios: defaultScenarios, fill: 0, startup: 0 })
})

test('targets ask for the whole acceptance list, unless a part is refused', () => {
  expect(parseOptions(['--targets'])).toMatchObject({ fill: 1_000_000, startup: 5 })
  expect(parseOptions(['--targets', '--fill', '0'])).toMatchObject({ fill: 0, startup: 5 })
})

test('a wrong scenario, number or release is named', () => {
  expect(() => parseOptions(['--scenarios', 'read-100B,raed'])).toThrow('no such scenario: raed')
  expect(() => parseOptions(['--rounds', 'many'])).toThrow("--rounds takes a number, not 'many'")
  expect(() => parseOptions(['--apache', '3.7'])).toThrow('no such release of Apache: 3.7')
})
