import { expect, test } from 'vitest'
import { Scope } from './scope.ts'

const none = new Set<string>()

test('without options everything is included', () => {
  const scope = new Scope('/a', {})
  expect([scope.has('/a', none), scope.has('/a/b/c/d', none)]).toEqual([true, true])
  expect(scope.isBottom('/a/b/c/d')).toBe(false)
})

test.each([
  ['/a', ['/a', '/a/b', '/a/b/c']],
  ['/', ['/', '/b', '/b/c']],
] as const)('depth is counted from the node that is watched: %s', (root, [node, child, leaf]) => {
  const alone = new Scope(root, { depthMax: 0 })
  const family = new Scope(root, { depthMax: 1 })
  const isIn = (scope: Scope) => [node, child, leaf].map((path) => scope.has(path, none))
  expect(isIn(alone)).toEqual([true, false, false])
  expect(isIn(family)).toEqual([true, true, false])
  expect([alone, family].map((scope) => scope.isBottom(node))).toEqual([true, false])
  expect([alone, family].map((scope) => scope.isBottom(child))).toEqual([true, true])
})

test('the filter is not called for nodes below an excluded one', () => {
  const asked: string[] = []
  const include = (path: string): boolean => {
    asked.push(path)
    return path !== '/a/b'
  }
  const scope = new Scope('/a', { include })
  expect(scope.has('/a/b/c/d', none)).toBe(false)
  expect(asked.splice(0)).toEqual(['/a/b'])
  expect(scope.has('/a/x/y', none)).toBe(true)
  expect(asked.splice(0)).toEqual(['/a/x', '/a/x/y'])
  // Known nodes are included, and so is the node itself.
  expect(scope.has('/a/x/y', new Set(['/a/x']))).toBe(true)
  expect(scope.has('/a', none)).toBe(true)
  expect(asked).toEqual(['/a/x/y'])
})

test('the filter is not called for nodes that are too deep', () => {
  const include = (path: string): boolean => {
    throw new Error(`asked about ${path}`)
  }
  expect(new Scope('/a', { depthMax: 1, include }).has('/a/b/c', none)).toBe(false)
})

test('invalid depths and filters are refused', () => {
  for (const depthMax of [-1, 1.5, Number.NaN, Infinity, '1', null])
    expect(() => new Scope('/a', { depthMax: depthMax as number })).toThrow(
      /^depthMax is a whole number from 0 on, not /,
    )
  const include = /b/ as unknown as () => boolean
  expect(() => new Scope('/a', { include })).toThrow('include is a function, not an object')
})
