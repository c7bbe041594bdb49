import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startServer, type RunningServer } from '../src/index.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'zabra-empty-'))
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

async function start(config: Record<string, string> = {}): Promise<RunningServer> {
  const server = await startServer({ config: { dataDir, preAllocSize: 64, ...config } })
  onTestFinished(() => server.stop())
  return server
}

describe('with db.autocreate=false', () => {
  const config = { 'db.autocreate': 'false' }

  test('a server of its own does not start on an empty directory', async () => {
    await expect(start(config)).rejects.toThrow('db.autocreate=false')
  })

  test('it does where the file initialize says that it is new, and afterwards without', async () => {
    writeFileSync(join(dataDir, 'initialize'), '')
    const server = await start(config)
    expect(existsSync(join(dataDir, 'initialize'))).toBe(false)
    await server.stop()
    await start(config)
  })

  test('a server of an ensemble that has lost its data gets it from the others', async () => {
    const ensemble = await EmbeddedEnsemble.start(config, {
      prepare: (folder) => writeFileSync(join(folder, 'initialize'), ''),
    })
    onTestFinished(() => ensemble.dispose())
    const client = await ensemble.connect(ensemble.leader)
    await client.create('/kept')
    // Server 3 would win by its number if servers without data could be elected.
    await ensemble.stop(3)
    await until(() => ensemble.leader !== undefined)
    rmSync(join(ensemble.folderOf(3), 'version-2'), { recursive: true })
    for (const id of [1, 2]) await ensemble.stop(id)
    await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
    await until(() => [...ensemble.servers.values()].every(({ peer }) => peer.isServing))
    expect(ensemble.leader).not.toBe(3)
    expect(ensemble.server(3).peer.db.tree.find('/kept')).not.toBe(0)
  })
})

test('logs without a snapshot are replayed where that is trusted, and only the first time', async () => {
  const first = await start()
  const client = await RawClient.connect(first.clientPort)
  await client.create('/a')
  await client.close()
  await first.stop()
  const folder = join(dataDir, 'version-2')
  for (const name of readdirSync(folder)) {
    if (name.startsWith('snapshot.')) rmSync(join(folder, name))
  }
  await expect(start()).rejects.toThrow('snapshot.trust.empty')
  const trusting = await start({ 'snapshot.trust.empty': 'true' })
  expect(trusting.peer.db.tree.find('/a')).not.toBe(0)
  await trusting.stop()
  expect((await start()).peer.db.tree.find('/a')).not.toBe(0)
})
