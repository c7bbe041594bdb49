import { expect, test } from 'vitest'
import { LonePeer } from '../../test/support/lone-peer.ts'

function ephemeralsOf(client: ReturnType<LonePeer['connect']>, prefixPath: string): string[] {
  client.send('getEphemerals', { prefixPath })
  const { body } = client.take().at(-1)!
  return Array.from({ length: body.int() }, () => body.ustring()).toSorted()
}

test.each([10, 1000])(
  'of %i ephemerals those with a start are found, whatever comes and goes',
  (count) => {
    const server = new LonePeer()
    const [owner, other] = [server.connect(), server.connect()]
    owner.create('/a')
    for (let i = 0; i < count; i++) owner.create(`/a/${i}`, null, 1)
    other.create('/a/other', null, 1)
    expect(ephemeralsOf(owner, '/a/')).toHaveLength(count)
    expect(ephemeralsOf(owner, '/b')).toEqual([])
    expect(ephemeralsOf(owner, '/a/1')).toHaveLength(count === 10 ? 1 : 111)
    owner.create('/a/1-new', null, 1)
    owner.call('delete', { path: '/a/1', version: -1 })
    expect(ephemeralsOf(owner, '/a/1')).toHaveLength(count === 10 ? 1 : 111)
    expect(ephemeralsOf(owner, '/a/1-')).toEqual(['/a/1-new'])
    expect(ephemeralsOf(owner, '/')).toHaveLength(count)
    expect(ephemeralsOf(other, '/a')).toEqual(['/a/other'])
  },
)

test('a prefix without a match among many ephemerals visits none of them', () => {
  const server = new LonePeer()
  const owner = server.connect()
  for (let i = 0; i < 2000; i++) owner.create(`/${i}`, null, 1)
  expect(ephemeralsOf(owner, '/none')).toEqual([])
  const { tree } = server.db
  let looked = 0
  const nameOf = tree.nameOf.bind(tree)
  tree.nameOf = (id) => (looked++, nameOf(id))
  for (let i = 0; i < 1000; i++) expect(ephemeralsOf(owner, '/none')).toEqual([])
  expect(looked).toBe(0)
})
