/** A server that served a thousand writes reports that its newest log has lost its end. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { RawClient } from './support/raw-client.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'
import { until } from './support/until.ts'

const writes = 1000

async function writeMany(port: number): Promise<void> {
  const client = await RawClient.connect(port)
  await Promise.all(Array.from({ length: writes }, (_, i) => client.create(`/node-${i}`, `${i}`)))
  await client.close()
}

/** The newest log of a directory. */
function newestLog(dataDir: string): string {
  const files = join(dataDir, 'version-2')
  const logs = readdirSync(files).filter((name) => name.startsWith('log.'))
  const zxid = (name: string): number => Number.parseInt(name.slice('log.'.length), 16)
  return join(files, logs.toSorted((a, b) => zxid(a) - zxid(b)).at(-1)!)
}

/** The position where the records end and zeros begin. */
function contentEnd(path: string): number {
  const bytes = readFileSync(path)
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return end
}

const damages: Record<string, (log: string) => void> = {
  'cut to half': (log) => truncateSync(log, Math.floor(contentEnd(log) / 2)),
  'cut in its last record': (log) => truncateSync(log, contentEnd(log) - 40),
  'zeroed at its end': (log) => {
    const bytes = readFileSync(log)
    writeFileSync(log, bytes.fill(0, Math.floor(contentEnd(log) * 0.94)))
  },
  'cut to 0 bytes': (log) => truncateSync(log, 0),
  deleted: (log) => rmSync(log),
  'a link to a missing file': (log) => {
    rmSync(log)
    symlinkSync(`${log}.elsewhere`, log)
  },
}

describe.each(['stopped', 'killed'])('a server that was %s, and its newest log is', (ending) => {
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zabra-missing-'))
    const server = await ServerProcess.start(folder, 'preAllocSize=64')
    await writeMany(server.port)
    if (ending === 'stopped') await server.stop()
    else {
      const note = join(folder, 'data', 'version-2', 'zabra.extent')
      // The note about the last write is made soon.
      await until(() => /zxid=0*3e[a-f] /.test(readFileSync(note, 'utf8')))
      await server.kill()
    }
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each(Object.keys(damages))(
    '%s: it does not start without permission to lose data',
    async (what) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'zabra-missing-'))
      onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
      cpSync(join(folder, 'data', 'version-2'), join(dataDir, 'version-2'), { recursive: true })
      const log = newestLog(dataDir)
      damages[what]!(log)
      await expect(startServer({ config: { dataDir } })).rejects.toThrow(
        /were durable: those in between are missing|a link to a missing file/,
      )
      if (!existsSync(log) && what !== 'deleted') rmSync(log)
      const config = { dataDir, 'recovery.acceptDamage': true }
      const server = await startServer({ config })
      await server.stop()
      const again = await startServer({ config: { dataDir } })
      await again.stop()
    },
  )

  test('whole: it starts', async () => {
    await inTemporaryFolder(async (dataDir) => {
      cpSync(join(folder, 'data', 'version-2'), join(dataDir, 'version-2'), { recursive: true })
      const server = await startServer({ config: { dataDir } })
      expect(server.peer.db.tree.find(`/node-${writes - 1}`)).not.toBe(0)
      await server.stop()
    })
  })
})

test('a member whose log has lost its end does not vote, and has everything sent by its leader', async () => {
  const ensemble = await EmbeddedEnsemble.start({})
  onTestFinished(() => ensemble.dispose())
  const client = await ensemble.connect(ensemble.leader)
  for (let i = 0; i < 50; i++) await client.create(`/kept-${i}`)
  await until(() => ensemble.ids.every((id) => holds(ensemble, id, '/kept-49')))
  for (const id of ensemble.ids) await ensemble.stop(id)
  // Among equal servers, the one with the highest id is elected.
  const log = newestLog(ensemble.folderOf(3))
  truncateSync(log, Math.floor(contentEnd(log) / 2))
  await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
  await until(() => [...ensemble.servers.values()].every(({ peer }) => peer.isServing))
  expect(ensemble.leader).not.toBe(3)
  expect(holds(ensemble, 3, '/kept-49')).toBe(true)
  // Nothing is missing any more: it votes again, and would lead if the others were down.
  await ensemble.stop(1)
  await ensemble.stop(2)
  await ensemble.stop(3)
  await Promise.all([2, 3].map((id) => ensemble.start(id)))
  await until(() => ensemble.leader !== undefined)
  expect(holds(ensemble, 3, '/kept-49')).toBe(true)
})

function holds(ensemble: EmbeddedEnsemble, id: number, path: string): boolean {
  return ensemble.server(id).peer.db.tree.find(path) !== 0
}
