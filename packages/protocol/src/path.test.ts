import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameOf, parentOf, pathProblem } from './path.ts'

const accepted = [
  '/',
  '/a',
  '/a/b',
  '/zookeeper',
  '/a/zookeeper',
  '/...',
  '/.x',
  '/..x',
  '/x.',
  '/a/.../b',
  '/with space',
  '/\u00a0',
  '/é',
  '/日本',
  '/\ud7ff',
  '/\uf900',
  '/\uffef',
  '/~',
]

test.each(accepted)('%j is a legal path', (path) => {
  expect(pathProblem(path)).toBeUndefined()
})

const refused: [path: string, why: RegExp][] = [
  ['', /empty/],
  ['a', /start/],
  ['a/b', /start/],
  ['/a/', /ends/],
  ['//', /ends/],
  ['/a//b', /empty name/],
  ['//a', /empty name/],
  ['/.', /relative/],
  ['/..', /relative/],
  ['/a/./b', /relative/],
  ['/a/../b', /relative/],
  ['/./a', /relative/],
  ['/a/..', /relative/],
  ['/a\0', /not allowed/],
  ['/\u0001', /not allowed/],
  ['/\u001f', /not allowed/],
  ['/\u007f', /not allowed/],
  ['/\u0085', /not allowed/],
  ['/\u009f', /not allowed/],
  ['/\ud800', /not allowed/],
  ['/\ue000', /not allowed/],
  ['/\uf8ff', /not allowed/],
  ['/\ufff0', /not allowed/],
  ['/\uffff', /not allowed/],
  ['/\u{1f600}', /not allowed/],
]

test.each(refused)('%j is refused', (path, why) => {
  expect(pathProblem(path)).toMatch(why)
})

test('for any text, the rules agree with a naive implementation', () => {
  const unit = fc.oneof(
    fc.constantFrom(
      '/',
      '.',
      'a',
      '\0',
      '\u001f',
      '\u0080',
      '\u00a0',
      '\ud800',
      '\uf8ff',
      '\uffef',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 12 }), (units) => {
      const path = `/${units.join('')}`
      expect(pathProblem(path) === undefined).toBe(isLegal(path))
    }),
    { numRuns: 2000 },
  )
})

function isLegal(path: string): boolean {
  if (path === '/') return true
  const names = path.slice(1).split('/')
  if (names.some((name) => name === '' || name === '.' || name === '..')) return false
  // oxlint-disable-next-line no-control-regex -- they are what the rule is about
  return !/[\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]/.test(path)
}

test('a path is its parent and its name', () => {
  expect(parentOf('/a')).toBe('/')
  expect(parentOf('/a/b')).toBe('/a')
  expect(parentOf('/')).toBe('/')
  expect(nameOf('/a')).toBe('a')
  expect(nameOf('/a/b')).toBe('b')
  expect(nameOf('/')).toBe('')
})
