import { encodeText, LastText, pathProblem } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteKeeper } from '../../base/byte-keeper.ts'
import { hashBytes, keepScanned, PathScanner, type ScannedPath } from './scanned-path.ts'

const seed = 12345
const piece = fc.constantFrom('/', '/', 'a', 'b7', '.', '..', ' ', '~', '\0', '\x7f', 'ä', '€', '𝄞')
const anyPath = fc.oneof(
  fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.constantFrom(
    '/',
    '/a',
    '/a/b',
    '/lock/_c_0-lock-0000000017',
    '/...',
    '//',
    '//a',
    `/${'x'.repeat(300)}`,
  ),
)

test('the result of a scan is right, whatever was scanned before', () => {
  const scanner = new PathScanner(seed)
  fc.assert(
    fc.property(fc.array(anyPath, { maxLength: 6 }), (paths) => {
      for (const path of [...paths, ...paths]) expectScanned(scanner.scan(path), path)
    }),
    { numRuns: 500 },
  )
})

test('every plain path is legal, and most legal paths are plain', () => {
  const scanner = new PathScanner(seed)
  fc.assert(
    fc.property(anyPath, (path) => {
      if (scanner.scan(path).isPlain) expect(pathProblem(path)).toBeUndefined()
    }),
    { numRuns: 500 },
  )
  for (const path of ['/', '/a', '/a/b-0000000017', '/with space/~']) {
    expect(scanner.scan(path).isPlain, path).toBe(true)
  }
})

test('a kept path is unchanged after other paths are scanned', () => {
  const scanner = new PathScanner(seed)
  const keeper = new ByteKeeper()
  fc.assert(
    fc.property(fc.array(anyPath, { maxLength: 6 }), (paths) => {
      const kept = paths.map((path) => keepScanned(scanner.scan(path), keeper))
      scanner.scan('/another/path/that/is/longer/than/most')
      for (const [i, path] of paths.entries()) expectScanned(kept[i]!, path)
    }),
  )
})

test('siblings whose names differ in the last character have adjacent hashes', () => {
  const scanner = new PathScanner(seed)
  const hashes = Array.from({ length: 10 }, (_, digit) => scanner.scan(`/queue/item-${digit}`).hash)
  expect(new Set(hashes).size).toBe(10)
  expect(new Set(hashes.map((hash) => hash >> 4)).size).toBe(1)
})

function expectScanned(scanned: ScannedPath, path: string): void {
  const { text, bytes, view, start, slashAt, end, hash, parentHash, isRoot, parentLength } = scanned
  const expected = encodeText(path)
  const slash = expected.lastIndexOf(0x2f)
  expect(text).toBe(path)
  expect(Buffer.from(bytes.subarray(start, end)).toString()).toBe(Buffer.from(expected).toString())
  expect(end - start).toBe(expected.length)
  if (end > start) expect(view.getUint8(start)).toBe(expected[0])
  expect(slashAt - start).toBe(slash)
  expect(parentLength).toBe(path.lastIndexOf('/'))
  expect(isRoot).toBe(path === '' || path === '/')
  expect(hash).toBe(isRoot ? seed : hashBytes(seed, expected, 0, expected.length))
  const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')))
  expect(scanned.isBelowRoot).toBe(path.includes('/') && (parent === '' || parent === '/'))
  if (scanned.isBelowRoot) expect(parentHash).toBe(seed)
  else if (slash >= 0) expect(parentHash).toBe(hashBytes(seed, expected, 0, slash))
}

test('a scanner that gets another memory does not take its text for the one before', () => {
  const [first, second] = [new LastText(), new LastText()]
  const scanner = new PathScanner(0, first)
  scanner.scan('/a/one')
  second.of('/b/two')
  expect(second.serial).toBe(first.serial)
  scanner.shareText(second)
  expect(scanner.scan('/b/two')).toMatchObject({ text: '/b/two', slashAt: 2 })
})
