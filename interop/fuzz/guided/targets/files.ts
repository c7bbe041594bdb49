import { loadDatabase, MemoryDisk, RecoveryError, type DatabaseOptions } from '@zabra/core'
import { LonePeer } from '../../../../packages/core/test/support/lone-peer.ts'
import { writeSnapshot } from '../../../../packages/core/src/storage/snapshot/snapshot.ts'
import { TxnLog } from '../../../../packages/core/src/storage/log/txn-log.ts'
import type { Target } from '../target.ts'

const directory = 'data/version-2'
const logName = 'log.1'
const snapshotName = 'snapshot.5'
const options: DatabaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 1,
  acl: { skipAcl: false, schemes: new Set() },
}

/** A disk with the files of a small server. */
async function sample(): Promise<{ log: Uint8Array; snapshot: Uint8Array }> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const server = new LonePeer()
  const client = server.connect()
  const log = new TxnLog(disk, {
    directory,
    preAllocBytes: 0,
    lastZxid: 0n,
    extentDirectory: directory,
  })
  const commit = async (): Promise<void> => {
    while (server.peer.hasBatch) {
      const batch = server.peer.batches.take()
      await log.append(batch)
      server.peer.logged(batch)
    }
  }
  for (const path of ['/a', '/a/b', '/c']) {
    client.send('create', {
      path,
      data: Uint8Array.of(1, 2, 3),
      acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
      flags: path === '/c' ? 1 : 0,
    })
    await commit()
  }
  client.send('setData', { path: '/a', data: Uint8Array.of(9), version: -1 })
  client.send('delete', { path: '/a/b', version: -1 })
  await commit()
  const { file } = await writeSnapshot(disk, directory, server.db.snapshotSource())
  const names = (await disk.list(directory)).map(({ name }) => name)
  const logFile = names.find((name) => name.startsWith('log.'))!
  return { log: await readWhole(disk, logFile), snapshot: await readWhole(disk, file) }
}

async function readWhole(disk: MemoryDisk, name: string): Promise<Uint8Array> {
  const handle = await disk.openRead(`${directory}/${name}`)
  const bytes = new Uint8Array(handle.bytes)
  await handle.read(0, bytes)
  await handle.close()
  return bytes
}

/** Starts on a directory with this file: the server serves, or refuses and names a file. */
async function startOn(name: string, bytes: Uint8Array): Promise<void> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const handle = await disk.create(`${directory}/${name}`)
  await handle.write(bytes, 0)
  await handle.close()
  const recovery = { snapshotDir: directory, logDir: directory, trustEmptySnapshot: true }
  try {
    await loadDatabase(disk, recovery, options)
  } catch (error) {
    if (!(error instanceof RecoveryError)) throw error
    if (!error.message.includes(directory))
      throw new Error('the refusal names no file', { cause: error })
  }
}

export const logs: Target = {
  name: 'logs',
  seeds: async () => [(await sample()).log],
  run: (input) => startOn(logName, input),
}

export const snapshots: Target = {
  name: 'snapshots',
  seeds: async () => [(await sample()).snapshot],
  run: (input) => startOn(snapshotName, input),
}
