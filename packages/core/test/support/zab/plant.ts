import { TxnHeader, writeTxnBody } from '@zabra/protocol'
import { loadDatabase } from '../../../src/storage/recovery/load.ts'
import { LogBatch } from '../../../src/storage/log/log-batch.ts'
import type { MemoryDisk } from '../../../src/storage/disk/memory-disk.ts'
import { writeSnapshot } from '../../../src/storage/snapshot/snapshot.ts'
import { TxnLog } from '../../../src/storage/log/txn-log.ts'
import { Epochs } from '../../../src/storage/epochs.ts'
import { zxidOf } from './describe.ts'
import { directory } from './stored.ts'

const directories = { snapshotDir: directory, logDir: directory }
const databaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 1,
  acl: { skipAcl: false, schemes: new Set<string>() },
}

/**
 * Puts a history on an empty disk: of each transaction the zxid, and `snapshot` where one was taken.
 * Each transaction makes a node of that name.
 */
export async function plant(
  disk: MemoryDisk,
  history: readonly string[],
  epochs: { readonly accepted: bigint; readonly current: bigint },
): Promise<void> {
  await loadDatabase(disk, directories, databaseOptions)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, extentDirectory: directory })
  for (const item of history) {
    if (item === 'snapshot') {
      const { db } = await loadDatabase(disk, directories, databaseOptions)
      await writeSnapshot(disk, directory, db.snapshotSource())
      log.roll()
    } else {
      await log.append(batchOf(zxidOf(item), `/${item}`))
    }
  }
  await log.close()
  const stored = await Epochs.load(disk, directory, log.lastZxid)
  await stored.setAccepted(epochs.accepted)
  await stored.setCurrent(epochs.current)
}

function batchOf(zxid: bigint, path: string): LogBatch {
  const batch = new LogBatch()
  batch.begin()
  const header = { clientId: 0n, cxid: 0, zxid, time: 0n, type: 1 }
  TxnHeader.write(batch.writer, header)
  const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
  const body = { path, data: null, acl, ephemeral: false, parentCVersion: -1 }
  writeTxnBody(batch.writer, { type: 1, body })
  batch.end(zxid)
  return batch
}
