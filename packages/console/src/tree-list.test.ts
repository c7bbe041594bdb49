import { describe, expect, test } from 'vitest'
import type { Node } from './node.ts'
import { Branch, RowList } from './tree-list.ts'

const node = (path: string): Node => ({
  path,
  name: path.slice(path.lastIndexOf('/') + 1),
  kind: 'persistent',
  czxid: '0x1',
  mzxid: '0x1',
  pzxid: '0x1',
  ctime: '',
  mtime: '',
  version: 0,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: null,
  ttlMs: null,
  dataLength: 0,
  numChildren: 0,
})
function branchOf(total: number, offset: number, ...paths: readonly string[]): Branch {
  const branch = new Branch()
  branch.clear(total)
  branch.put(offset, paths.map(node))
  return branch
}
const textsOf = (list: RowList, from = 0, to = list.length): readonly string[] =>
  list
    .slice(from, to)
    .map(
      ({ path, note, index, depth }) =>
        `${depth} ${path}${note === undefined ? '' : ` ${note} ${index}`}`,
    )

describe('the rows of a tree', () => {
  test('children that are not loaded have rows, too', () => {
    const branches = new Map([['/', branchOf(300_000, 200_000, '/m', '/n')]])
    const list = new RowList(node('/'), branches, new Set(['/']))
    expect(list.length).toBe(300_001)
    expect(textsOf(list, 200_000, 200_004)).toEqual([
      '1 / loading 200000',
      '1 /m',
      '1 /n',
      '1 / loading 200003',
    ])
    expect(list.indexOf('/n')).toBe(200_002)
    expect(list.indexOf('/unknown')).toBe(-1)
    expect(list.at(300_001)).toBeUndefined()
  })

  test('an open child has its children below it, in its place', () => {
    const branches = new Map([
      ['/', branchOf(3, 0, '/a', '/b', '/c')],
      ['/b', branchOf(2, 0, '/b/x', '/b/y')],
      ['/a', branchOf(1, 0, '/a/closed')],
    ])
    const list = new RowList(node('/'), branches, new Set(['/', '/b']))
    expect(textsOf(list)).toEqual(['0 /', '1 /a', '1 /b', '2 /b/x', '2 /b/y', '1 /c'])
    for (let at = 0; at < list.length; at++) expect(list.indexOf(list.at(at)!.path)).toBe(at)
    expect(list.at(5)).toMatchObject({ index: 3, siblings: 3 })
    expect(list.indexOf('/a/closed')).toBe(-1)
  })

  test('why there are no children is a row behind those that are known', () => {
    const hidden = branchOf(1, 0, '/s/known')
    hidden.problem = 'hidden'
    const branches = new Map([
      ['/', branchOf(1, 0, '/s')],
      ['/s', hidden],
    ])
    const list = new RowList(node('/'), branches, new Set(['/', '/s']))
    expect(textsOf(list)).toEqual(['0 /', '1 /s', '2 /s/known', '2 /s problem 2'])
  })
})
