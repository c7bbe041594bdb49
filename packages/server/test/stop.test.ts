import { expect, test } from 'vitest'
import { RawClient } from './support/raw-client.ts'
import { runTrial } from './support/kill/trial.ts'
import { seedOf } from './support/random.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`SIGTERM under load ends every connection and loses nothing (seed ${seed})`, async () => {
  const rounds = await inTemporaryFolder((dir) =>
    runTrial({ dir, seed, rounds: 2, ending: 'stop' }),
  )
  expect(rounds.flatMap(({ problems }) => problems)).toEqual([])
  expect(rounds.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(100)
}, 60_000)

test('a clean stop does not wait for idle clients', async () => {
  await inTemporaryFolder(async (dir) => {
    const server = await ServerProcess.start(dir, '')
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => RawClient.connect(server.port)),
    )
    const started = performance.now()
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect(performance.now() - started).toBeLessThan(1500)
    await Promise.all(clients.map(({ ended }) => ended))
    expect(server.output).toContain('server: stopped, all acknowledged writes are on disk')
  })
})
