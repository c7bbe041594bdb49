import { parentOf } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { createWithParents } from './create-with-parents.ts'
import { OperationError } from './errors.ts'
import type { TreePort } from './whole-trees.ts'

const stat = {} as never

/** A tree in memory, which records every attempted create. */
class Tree implements TreePort {
  readonly nodes = new Set(['/'])
  readonly tried: string[] = []
  afterCreate = (_path: string): void => {}

  exists = (path: string): Promise<boolean> => Promise.resolve(this.nodes.has(path))
  children = (): Promise<string[]> => Promise.resolve([])
  delete = (): Promise<void> => Promise.resolve()

  async create(path: string): Promise<{ path: string; stat: never }> {
    this.tried.push(path)
    if (!this.nodes.has(parentOf(path))) throw new OperationError('noNode', { path })
    if (this.nodes.has(path)) throw new OperationError('nodeExists', { path })
    this.nodes.add(path)
    this.afterCreate(path)
    return { path, stat }
  }

  make(path: string): Promise<unknown> {
    return createWithParents(
      () => this.create(path),
      () => parentOf(path),
      this,
    )
  }
}

test('no parent is created if it exists', async () => {
  const tree = new Tree()
  await tree.make('/a')
  expect(tree.tried).toEqual(['/a'])
})

test('missing parents are created, then the node', async () => {
  const tree = new Tree()
  await tree.make('/a/b/c')
  expect([...tree.nodes]).toEqual(['/', '/a', '/a/b', '/a/b/c'])
})

test('another error is passed on', async () => {
  const tree = new Tree()
  await tree.make('/a')
  await expect(tree.make('/a')).rejects.toMatchObject({ reason: 'nodeExists', path: '/a' })
  expect(tree.tried).toEqual(['/a', '/a'])
})

test('an error of a parent is passed on', async () => {
  const tree = new Tree()
  tree.afterCreate = (path) => {
    throw new OperationError('noAuth', { path })
  }
  await expect(tree.make('/a/b')).rejects.toMatchObject({ reason: 'noAuth', path: '/a' })
})

test('a parent that is deleted before its child is created is created again', async () => {
  const tree = new Tree()
  let reaped = 0
  tree.afterCreate = (path) => {
    if (path === '/a' && reaped++ < 3) tree.nodes.delete('/a')
  }
  await tree.make('/a/b/c')
  expect(tree.nodes).toContain('/a/b/c')
})

test.each(['/a', '/a/b/c'])(
  'if %s is deleted again and again, the error is passed on',
  async (gone) => {
    const tree = new Tree()
    tree.afterCreate = (path) => {
      if (path === gone) tree.nodes.delete(gone)
    }
    const refused = { reason: 'noNode', path: '/a/b/c/d' }
    await expect(tree.make('/a/b/c/d')).rejects.toMatchObject(refused)
    expect(tree.tried.length).toBeLessThan(60)
  },
)

test('a deep node is not given up because of its depth', async () => {
  const path = '/x'.repeat(200)
  const tree = new Tree()
  await tree.make(path)
  expect(tree.nodes).toContain(path)
})
