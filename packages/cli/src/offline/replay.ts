import { randomInt } from 'node:crypto'
import { LoadingDatabase, loadSnapshot, LogFileReader, type Database } from '@zabra/core'
import { zlibCompression } from '@zabra/server'
import { disk } from './files.ts'

/** The tree of a snapshot and of the transactions behind it. */
export interface Replayed {
  readonly db: Database
  readonly transactions: number
  /** The last transaction. */
  readonly zxid: bigint
  /** Why the tree is not what the server that wrote the files had. */
  readonly mismatch: string | undefined
}

export interface ReplayOptions {
  readonly signal: AbortSignal
  /** The last transaction that is replayed. */
  readonly to?: bigint | undefined
  readonly onTransactions?: (count: number) => void
}

/** Loads a snapshot and replays the logs behind it. Changes nothing on disk. */
export async function replay(
  directory: string,
  file: { readonly name: string; readonly zxid: bigint },
  logs: readonly string[],
  { signal, to, onTransactions = () => {} }: ReplayOptions,
): Promise<Replayed> {
  const loading = new LoadingDatabase({
    extendedTypes: true,
    digests: true,
    hashSeed: randomInt(0x7fffffff),
    acl: { skipAcl: true, schemes: new Set() },
  })
  await loadSnapshot(disk, directory, file.name, loading, zlibCompression)
  loading.lastZxid = file.zxid
  let transactions = 0
  const replayLog = async (path: string): Promise<boolean> => {
    const log = await LogFileReader.open(disk, path)
    try {
      for await (const records of log) {
        signal.throwIfAborted()
        const before = transactions
        while (records.next()) {
          const { zxid, reader } = records
          if (zxid <= loading.lastZxid) continue
          if (to !== undefined && zxid > to) return false
          loading.apply(reader)
          transactions++
        }
        onTransactions(transactions - before)
      }
    } finally {
      await log.close()
    }
    return true
  }
  for (const path of logs) if (!(await replayLog(path))) break
  const { db } = loading
  const { lastZxid: zxid } = db
  db.finishLoading()
  const { unreported: mismatch } = db.digests
  return {
    db,
    transactions,
    zxid,
    mismatch:
      mismatch &&
      `the tree differs from what was recorded at 0x${mismatch.zxid.toString(16)}: ` +
        `digest 0x${mismatch.actual.toString(16)} instead of 0x${mismatch.expected.toString(16)}`,
  }
}
