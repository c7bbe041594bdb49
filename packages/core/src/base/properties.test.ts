import { expect, test } from 'vitest'
import { parseProperties } from './properties.ts'

function read(text: string): [string, string, number][] {
  return parseProperties(text).properties.map(({ key, value, line }) => [key, value, line])
}

test('a key ends at =, : or a blank, and blanks around the separator do not count', () => {
  expect(read('a=1\nb:2\nc 3\nd = 4\ne\t:\t5\nf')).toEqual([
    ['a', '1', 1],
    ['b', '2', 2],
    ['c', '3', 3],
    ['d', '4', 4],
    ['e', '5', 5],
    ['f', '', 6],
  ])
})

test('a second separator belongs to the value', () => {
  expect(read('server.1=host:2888:3888;2181\na = = b')).toEqual([
    ['server.1', 'host:2888:3888;2181', 1],
    ['a', '= b', 2],
  ])
})

test('comments start with # or ! and cannot be continued', () => {
  expect(read('# one \\\na=1\n  ! two\n\n  \t\nb=2')).toEqual([
    ['a', '1', 2],
    ['b', '2', 6],
  ])
})

test('a backslash continues the line, and leading blanks of the next do not count', () => {
  expect(read('a=1,\\\n    2,\\\r\n\t3\nb=\\\\\nc=4')).toEqual([
    ['a', '1,2,3', 1],
    ['b', '\\', 4],
    ['c', '4', 5],
  ])
})

test('a continuation that looks like a comment is not a comment', () => {
  expect(read('a=1\\\n#2')).toEqual([['a', '1#2', 1]])
})

test('escapes are resolved in keys and in values', () => {
  expect(read('a\\ b\\=c=\\t\\n\\u0041\\z\\:')).toEqual([['a b=c', '\t\nAz:', 1]])
})

test('a malformed \\u escape is a problem of its line only', () => {
  const { properties, problems } = parseProperties('a=1\nb=\\u12x4\nc=3')
  expect(properties.map(({ key }) => key)).toEqual(['a', 'c'])
  expect(problems).toMatchObject([{ line: 2, key: 'b' }])
})

test('trailing blanks stay, a trailing backslash at the end of the file is removed', () => {
  expect(read('a=1  \nb=2\\')).toEqual([
    ['a', '1  ', 1],
    ['b', '2', 2],
  ])
})

test('duplicates are all reported, in file order', () => {
  expect(read('a=1\na=2')).toEqual([
    ['a', '1', 1],
    ['a', '2', 2],
  ])
})

test('a byte order mark and all kinds of line ends are accepted', () => {
  expect(read('\uFEFFa=1\rb=2\r\nc=3')).toEqual([
    ['a', '1', 1],
    ['b', '2', 2],
    ['c', '3', 3],
  ])
})
