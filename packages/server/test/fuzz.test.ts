import { expect, test } from 'vitest'
import { besiege, heldGrowthMax } from './support/fuzz/siege.ts'
import { seedOf } from './support/random.ts'
import { RawClient } from './support/raw-client.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`hostile clients disturb nobody and leave nothing behind (seed ${seed})`, async () => {
  const result = await inTemporaryFolder((dir) =>
    besiege({ dir, seed, framesMax: 1_000_000, msMax: 5000 }),
  )
  expect(result.problems).toEqual([])
  expect(result.frames).toBeGreaterThan(1000)
  expect(result.served).toBeGreaterThan(10)
  expect(result.heldAfter - result.heldBefore).toBeLessThan(heldGrowthMax)
}, 90_000)

test('a client that asks for much and reads nothing costs little memory', async () => {
  await inTemporaryFolder(async (dir) => {
    const server = await ServerProcess.start(dir, '')
    try {
      const client = await RawClient.connect(server.port)
      await client.create('/large', Buffer.alloc(1_000_000))
      const glutton = await RawClient.connect(server.port)
      const before = await server.memory()
      glutton.socket.pause()
      const read = { path: '/large', watch: false }
      // The requests are short enough for one chunk; the answers have 400 MB.
      glutton.socket.cork()
      const replies = Array.from({ length: 400 }, () => glutton.call('getData', read))
      glutton.socket.uncork()
      const settled = Promise.allSettled(replies)
      for (let i = 0; i < 20; i++) await client.must('exists', read)
      const { external, rss } = await server.memory()
      expect(external - before.external).toBeLessThan(100_000_000)
      expect(rss - before.rss).toBeLessThan(200_000_000)
      // A client that resumes reading gets every answer.
      glutton.socket.resume()
      const answered = (await settled).filter(({ status }) => status === 'fulfilled')
      expect(answered).toHaveLength(replies.length)
    } finally {
      await server.kill()
    }
  })
}, 30_000)
