import { expect, test } from 'vitest'
import { asked, UsageError } from './arguments.ts'

test('a range of seeds of one kind', () => {
  expect(asked(['--seeds', '7..9', '--servers', '3', '--changing', '--workers', '1'])).toEqual({
    work: { type: 'range', range: { first: 7, last: 9 } },
    kind: { servers: 3, isChanging: true, recipe: undefined, isTwice: undefined },
    how: { isRecorded: false, workers: 1 },
  })
  expect(asked(['--seeds', '7']).work).toEqual({ type: 'range', range: { first: 7, last: 7 } })
})

test('without options it runs for a minute', () => {
  expect(asked([]).work).toEqual({ type: 'minutes', minutes: 1 })
})

test.each([
  [['--seed', 'x'], '--seed takes a whole number, not "x"'],
  [['--seeds', '9..7'], '--seeds 9..7 is not a range'],
  [['--seeds', '1..'], '--seeds takes a whole number, not ""'],
  [['--recipe', 'cake'], 'there is no recipe program "cake"'],
  [['--sed', '1'], 'Unknown option'],
])('%j is refused', (words, message) => {
  expect(() => asked(words)).toThrow(UsageError)
  expect(() => asked(words)).toThrow(message)
})
