import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonErrorAt } from './json-error.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('what is JSON has no error, however it is laid out', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, layout) => {
      const text = ` ${JSON.stringify(JSON.parse(json), undefined, layout)}\n`
      expect(jsonErrorAt(text)).toBeUndefined()
    }),
  )
})

test('a text with an error is one that is not JSON', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '1',
    '-0.5e3',
    'true',
    ' ',
    'x',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      expect(jsonErrorAt(text) === undefined).toBe(isJson(text))
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['{"a":1,}', 7],
  ['[1 2]', 3],
  ['{"a" 1}', 5],
  ['{"a":"b\nc"}', 5],
  ['{"a":1', 6],
  ['{} {}', 3],
  ['01', 1],
])('in %j the error is at %d', (text, at) => {
  expect(jsonErrorAt(text)).toBe(at)
})
