import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PendingNodes } from './pending-nodes.ts'
import { ProjectedNode } from './projection.ts'

/** Few hashes for many paths, so that they collide; the same path always has the same hash. */
function nodeOf(path: number, hashes: readonly number[]): ProjectedNode {
  const node = new ProjectedNode()
  node.path = `/${path}`
  node.hash = hashes[path % hashes.length]!
  return node
}

test('holds the newest node of each path, as a map would, at any size', () => {
  const step = fc.tuple(fc.constantFrom('set', 'delete', 'drain'), fc.nat(199), fc.nat())
  const hashes = fc.array(fc.integer(), { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), hashes, (steps, choice) => {
      const pending = new PendingNodes()
      const expected = new Map<string, ProjectedNode>()
      const made: ProjectedNode[] = []
      for (const [kind, path, pick] of steps) {
        if (kind === 'set') {
          const node = nodeOf(path, choice)
          pending.set(node)
          expected.set(node.path, node)
          made.push(node)
        } else if (kind === 'delete' && made.length > 0) {
          // It may have been replaced by another node: then nothing happens.
          const [node] = made.splice(pick % made.length, 1)
          pending.delete(node!)
          if (expected.get(node!.path) === node) expected.delete(node!.path)
        } else if (kind === 'drain' && pick % 50 === 0) {
          for (const node of made.splice(0)) pending.delete(node)
          expected.clear()
        }
        expect(pending.size).toBe(expected.size)
      }
      for (let path = 0; path < 200; path++) {
        const { path: name, hash } = nodeOf(path, choice)
        expect(pending.get(name, hash)).toBe(expected.get(name))
      }
    }),
    { numRuns: 200 },
  )
})

test('paths with the same hash are distinguished, also beyond the initial size', () => {
  const pending = new PendingNodes()
  const nodes = Array.from({ length: 10_000 }, (_, i) => nodeOf(i, [7, 7 + (1 << 20), -7]))
  // One bucket for thousands of nodes would be slow, so most get hashes of their own.
  for (const [i, node] of nodes.entries()) if (i > 30) node.hash = Math.imul(i, 0x9e3779b1)
  for (const node of nodes) pending.set(node)
  expect(pending.size).toBe(nodes.length)
  for (const node of nodes) expect(pending.get(node.path, node.hash)).toBe(node)
  for (const node of nodes) pending.delete(node)
  expect(pending.size).toBe(0)
  for (const node of nodes) expect(pending.get(node.path, node.hash)).toBeUndefined()
  pending.set(nodes[0]!)
  expect(pending.get('/0', 7)).toBe(nodes[0])
})
