import { expect, test } from 'vitest'
import { Standing } from './standing.ts'

test('a server without its data wants everything until it serves again', () => {
  const standing = new Standing(true)
  standing.truncateFailed()
  expect(standing).toMatchObject({ lacksData: true, wantsEverything: true })
  standing.serves()
  expect(standing).toMatchObject({ lacksData: false, wantsEverything: false })
})

test('a log that cannot be cut is replaced, but still counts', () => {
  const standing = new Standing(false)
  expect(standing.wantsEverything).toBe(false)
  standing.truncateFailed()
  expect(standing).toMatchObject({ lacksData: false, wantsEverything: true })
})

test('remedies for a tree that differs are tried once each, and again after a calm hour', () => {
  const standing = new Standing(false)
  const hourMs = 3_600_000
  const tried = [1, 2, 3, hourMs, 2 * hourMs + 1].map((nowMs) => standing.treeDiffers(nowMs))
  expect(tried).toEqual(['reload', 'takeEverything', 'none', 'none', 'reload'])
})

test('a server with a wrong tree takes another, and counts only if no quorum contradicts it', () => {
  const standing = new Standing(false)
  standing.asksForEverything()
  expect(standing).toMatchObject({ lacksData: false, wantsEverything: true, keepsOldFiles: true })
  standing.treeIsWorthless()
  expect(standing).toMatchObject({ lacksData: true, wantsEverything: true })
  standing.serves()
  expect(standing).toMatchObject({ wantsEverything: false, keepsOldFiles: false })
})

test('the pause for room on the disk doubles up to a limit, until the server serves', () => {
  const standing = new Standing(false)
  const pauses = Array.from({ length: 6 }, () => standing.takeRoomPauseMs())
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 8000])
  standing.serves()
  expect(standing.takeRoomPauseMs()).toBe(500)
})
