import type { Acl } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { AclTable } from './acl-table.ts'

const list = (id: string, perms = 31): Acl[] => [{ perms, id: { scheme: 'digest', id } }]
const open: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

test('equal lists share one number, different ones do not', () => {
  const table = new AclTable()
  const a = table.intern(list('a:1'))
  expect(table.intern(list('a:1'))).toBe(a)
  expect(table.intern(list('a:1', 30)).id).not.toBe(a.id)
  expect(table.intern([...list('a:1'), ...list('b:1')]).id).not.toBe(a.id)
  expect(table.intern([{ perms: 31, id: { scheme: 'digest', id: null } }]).id).not.toBe(
    table.intern(list('null')).id,
  )
})

test('the open list of a client gets a number; that of the first nodes is -1 and never stored', () => {
  const table = new AclTable()
  expect(table.intern(open).id).toBe(1)
  expect(table.get(-1).worldPerms).toBe(31)
  expect([...table.entries()].map(([id]) => id)).toEqual([1n])
})

test('a list ends with its last user, and its number is not reused', () => {
  const table = new AclTable()
  const { id } = table.intern(open)
  table.acquire(id)
  table.acquire(id)
  table.release(id)
  expect(table.has(id)).toBe(true)
  table.release(id)
  expect(table.has(id)).toBe(false)
  expect(table.intern(open).id).toBe(id + 1)
})

test('numbers continue after the highest one of a snapshot', () => {
  const table = new AclTable()
  table.load(7, list('a:1'))
  expect(table.intern(list('a:1')).id).toBe(7)
  expect(table.intern(list('b:1')).id).toBe(8)
})

test('lists of a snapshot that no node refers to are dropped', () => {
  const table = new AclTable()
  table.load(1, list('a:1'))
  table.load(2, list('b:1'))
  table.acquire(2)
  table.dropUnused()
  expect([...table.entries()].map(([id]) => id)).toEqual([2n])
})

test('the same list under two numbers survives the end of either', () => {
  const table = new AclTable()
  table.load(1, list('a:1'))
  table.load(2, list('a:1'))
  table.acquire(1)
  table.acquire(2)
  table.release(1)
  expect(table.get(2).acl).toEqual(list('a:1'))
  expect(table.intern(list('a:1')).id).toBe(2)
})

test('a list missing from a snapshot admits nobody, and no other list takes its number', () => {
  const table = new AclTable()
  table.load(1, list('a:1'))
  table.acquire(2)
  expect(table.get(2).worldPerms).toBe(0)
  expect(table.get(2).acl).not.toEqual([])
  expect(table.intern(open).id).toBe(3)
})

test('looking up a list adds nothing', () => {
  const table = new AclTable()
  expect(table.lookUp(open).worldPerms).toBe(31)
  expect([...table.entries()]).toEqual([])
  const known = table.intern(open)
  expect(table.lookUp(open)).toBe(known)
})

test('permissions of the world are known without reading the list', () => {
  const table = new AclTable()
  const acl: Acl[] = [
    { perms: 1, id: { scheme: 'world', id: 'anyone' } },
    { perms: 2, id: { scheme: 'ip', id: '1.1.1.1' } },
    { perms: 4, id: { scheme: 'world', id: 'anyone' } },
  ]
  expect(table.intern(acl).worldPerms).toBe(5)
})
