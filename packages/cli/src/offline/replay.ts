import { randomInt } from 'node:crypto'
import { LoadingDatabase, loadSnapshot, LogFileReader, type Database } from '@zabra/core'
import { zlibCompression } from '@zabra/server'
import { disk, type FoundFiles } from './files.ts'

/** The tree of a snapshot and of the transactions behind it. */
export interface Replayed {
  readonly db: Database
  readonly transactions: number
  /** Why the tree is not what the server that wrote the files had. */
  readonly mismatch: string | undefined
}

/** Loads a snapshot and replays the logs behind it. Changes nothing on disk. */
export async function replay(
  directory: string,
  file: { readonly name: string; readonly zxid: bigint },
  logs: FoundFiles | undefined,
  signal: AbortSignal,
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
  for (const { name } of logs?.files ?? []) {
    const log = await LogFileReader.open(disk, `${logs!.directory}/${name}`)
    try {
      for await (const records of log) {
        signal.throwIfAborted()
        while (records.next()) {
          if (records.zxid <= file.zxid) continue
          loading.apply(records.reader)
          transactions++
        }
      }
    } finally {
      await log.close()
    }
  }
  const { db } = loading
  db.finishLoading()
  const { untoldMismatch: mismatch } = db
  return {
    db,
    transactions,
    mismatch:
      mismatch &&
      `the tree differs from what was recorded at 0x${mismatch.zxid.toString(16)}: ` +
        `digest 0x${mismatch.actual.toString(16)} instead of 0x${mismatch.expected.toString(16)}`,
  }
}
