import { expect, test } from 'vitest'
import { rankZxids, SeenZxid, type Received, type Transcript } from './transcript.ts'

function replies(...headersAndStats: (readonly [header: bigint, pzxid?: bigint])[]): Transcript {
  return headersAndStats.map(([header, pzxid]) => {
    const reply: Received = { xid: 1, zxid: new SeenZxid(header) }
    if (pzxid !== undefined) reply['pzxid'] = new SeenZxid(pzxid)
    return { received: { 0: [reply] } }
  })
}

test('exact zxids are distances from the first reply', () => {
  const here = rankZxids(replies([100n], [101n], [105n]), 'exact')
  expect(here).toEqual(rankZxids(replies([200n], [201n], [205n]), 'exact'))
  expect(here).not.toEqual(rankZxids(replies([200n], [201n], [206n]), 'exact'))
})

test('how many zxids earlier plays have used does not count, their order does', () => {
  const here = rankZxids(replies([100n], [101n, 40n], [101n, 50n]), 'exact')
  expect(here).toEqual(rankZxids(replies([100n], [101n, 38n], [101n, 51n]), 'exact'))
  expect(here).not.toEqual(rankZxids(replies([100n], [101n, 50n], [101n, 40n]), 'exact'))
  expect(here).not.toEqual(rankZxids(replies([100n], [101n, 50n], [101n, 50n]), 'exact'))
})

test('ranked zxids keep their order and lose their distances', () => {
  const here = rankZxids(replies([100n], [101n, 40n], [105n]), 'rank')
  expect(here).toEqual(rankZxids(replies([300n], [302n, 1n], [303n]), 'rank'))
  expect(here).not.toEqual(rankZxids(replies([300n], [302n, 301n], [303n]), 'rank'))
})
