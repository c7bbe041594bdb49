import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@zabra/client'
import { LogBatch, MemoryDisk, TxnLog } from '@zabra/core'
import { CreateTxn, SetDataTxn, TxnHeader } from '@zabra/protocol'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

const openAcl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

/** The transactions in a log. */
class PastLog {
  private readonly batch = new LogBatch()
  private zxid = 0n

  create(path: string, parentCVersion: number): void {
    const body = { path, data: null, acl: openAcl, ephemeral: false, parentCVersion }
    CreateTxn.write(this.begin(1), body)
    this.batch.end(this.zxid)
  }

  set(path: string, version: number): void {
    SetDataTxn.write(this.begin(5), { path, data: null, version })
    this.batch.end(this.zxid)
  }

  async bytes(): Promise<Uint8Array> {
    const disk = new MemoryDisk()
    await disk.makeDirectory('logs')
    const log = new TxnLog(disk, { directory: 'logs', preAllocBytes: 0 })
    await log.append(this.batch)
    await log.close()
    return disk.content('logs/log.1')
  }

  private begin(type: number): LogBatch['writer'] {
    const { batch } = this
    batch.begin()
    TxnHeader.write(batch.writer, { clientId: 1n, cxid: 0, zxid: ++this.zxid, time: 1000n, type })
    return batch.writer
  }
}

/**
 * A server for all tests of a file that starts from this log: making two billion changes takes too
 * long.
 */
export function useServerWithLog(write: (log: PastLog) => void): { open(): Promise<Client> } {
  let dataDir: string
  let server: RunningServer
  beforeAll(async () => {
    const log = new PastLog()
    write(log)
    dataDir = await mkdtemp(join(tmpdir(), 'zabra-past-'))
    await mkdir(join(dataDir, 'version-2'))
    await writeFile(join(dataDir, 'version-2', 'log.1'), await log.bytes())
    const config = { dataDir, tickTime: 100, 'snapshot.trust.empty': 'true' }
    server = await startServer({ config })
  })
  afterAll(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true })
  })
  return {
    async open() {
      const client = new Client({ servers: server.connectString, sessionTimeoutMs: 2000 })
      onTestFinished(() => client.close())
      await client.connected()
      return client
    },
  }
}
