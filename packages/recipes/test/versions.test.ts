import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, text } from '@zabra/client'
import { LogBatch, MemoryDisk, TxnLog } from '@zabra/core'
import { CreateTxn, SetDataTxn, TxnHeader } from '@zabra/protocol'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { AtomicValue } from '../src/atomic-value.ts'
import { Counter } from '../src/counter.ts'

const highest = 0x7fffffff
const lowest = -0x80000000
const versions: Record<string, number> = {
  '/highest': highest - 1,
  '/zero': -2,
  '/raced': -2,
  '/compared': -1,
}

let dataDir: string
let server: RunningServer

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'zabra-versions-'))
  await mkdir(join(dataDir, 'version-2'))
  await writeFile(join(dataDir, 'version-2', 'log.1'), await logOfOldNodes())
  const config = { dataDir, tickTime: 100, 'snapshot.trust.empty': 'true' }
  server = await startServer({ config })
})
afterAll(async () => {
  await server.stop()
  await rm(dataDir, { recursive: true })
})

async function open(): Promise<Client> {
  const client = new Client({ servers: server.connectString, sessionTimeoutMs: 2000 })
  onTestFinished(() => client.close())
  await client.connected()
  return client
}

/** Two billion changes take too long: a log says that they have been. */
async function logOfOldNodes(): Promise<Uint8Array> {
  const batch = new LogBatch()
  let zxid = 0n
  const begin = (type: number): void => {
    batch.begin()
    TxnHeader.write(batch.writer, { clientId: 1n, cxid: 0, zxid: ++zxid, time: 1000n, type })
  }
  const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
  Object.entries(versions).forEach(([path, version], i) => {
    begin(1)
    const parentCVersion = i + 1
    CreateTxn.write(batch.writer, { path, data: null, acl, ephemeral: false, parentCVersion })
    batch.end(zxid)
    begin(5)
    SetDataTxn.write(batch.writer, { path, data: null, version })
    batch.end(zxid)
  })
  const disk = new MemoryDisk()
  await disk.makeDirectory('logs')
  const log = new TxnLog(disk, { directory: 'logs', preAllocBytes: 0 })
  await log.append(batch)
  await log.close()
  return disk.content('logs/log.1')
}

const versionAt = async (client: Client, path: string): Promise<number | undefined> =>
  (await client.exists(path))?.version

test('a value is changed on after the highest version', async () => {
  const client = await open()
  const value = new AtomicValue(client, '/highest', { codec: text, initial: '' })
  expect(await value.set('a')).toEqual({ value: 'a', version: highest })
  expect(await value.set('b')).toEqual({ value: 'b', version: lowest })
  expect(await value.update((now) => `${now}c`)).toEqual({ value: 'bc', version: lowest + 1 })
  expect(await value.get()).toEqual({ value: 'bc', version: await versionAt(client, '/highest') })
})

test('a counter counts on past the version that means any', async () => {
  const client = await open()
  await using counter = new Counter(client, '/zero')
  for (const count of [1n, 2n, 3n, 4n]) expect(await counter.increment()).toBe(count)
  expect(await versionAt(client, '/zero')).toBe(2)
})

test('no count is lost where many count past it', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, open))
  const counters = clients.map((client) => new Counter(client, '/raced'))
  await Promise.all(counters.flatMap((counter) => [counter.increment(), counter.increment()]))
  expect(await counters[0]!.get()).toBe(8n)
})

test('what others change at the version that means any is not overwritten unseen', async () => {
  const client = await open()
  const value = new AtomicValue(client, '/compared', { codec: text, initial: '' })
  const seen = await value.get()
  expect(seen.version).toBe(-1)
  await client.set('/compared', 'of others')
  expect(await value.compareAndSet(seen, 'mine')).toBeUndefined()
  expect((await value.get()).value).toBe('of others')
})
