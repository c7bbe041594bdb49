import { expect, test } from 'vitest'
import { filterIn, filterText, liveQueryOf, queryOf } from './filter.ts'

const query = 'path=%2Fapp&exact=true&session=0x1f&kinds=set%2Cdelete&from=0x10&to=0x20'

test('a filter lives in the address', () => {
  const filter = filterIn(new URLSearchParams(query))
  expect(filter).toEqual({
    path: '/app',
    isExact: true,
    session: '0x1f',
    kinds: ['set', 'delete'],
    from: '0x10',
    to: '0x20',
  })
  expect(new URLSearchParams(queryOf(filter)).toString()).toBe(query)
})

test('what does not filter is left out, and what is unknown, too', () => {
  expect(queryOf(filterIn(new URLSearchParams('exact=true&kinds=nonsense')))).toEqual({})
  const all = 'create,set,delete,acl,reconfig,openSession,closeSession'
  expect(queryOf(filterIn(new URLSearchParams({ kinds: all })))).toEqual({})
})

test('what happens now has no range', () => {
  expect(liveQueryOf(filterIn(new URLSearchParams('path=/a&from=0x1&to=0x2')))).toEqual({
    path: '/a',
  })
})

test('a filter has a name in words', () => {
  expect(filterText(filterIn(new URLSearchParams(query)))).toBe(
    '/app itself, session 0x1f, data set or deleted, from 0x10, to 0x20',
  )
  expect(filterText(filterIn(new URLSearchParams()))).toBe('all changes')
})
