import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CopyError, copyRecords, pastFiles, snapshotReach, type CopyProblem } from '@zabra/core'
import { fileChunks, zlibCompression } from '@zabra/server'
import { CommandError } from '../framework/errors.ts'
import { disk, findSnapshots } from '../offline/files.ts'
import type { RecordCollector } from './record-collector.ts'
import {
  BrokenChainError,
  type BackupSource,
  type BrokenReason,
  type LogCopy,
  type SnapshotCopy,
} from './source.ts'

const reasons: Readonly<Record<CopyProblem, BrokenReason>> = {
  purged: 'purged',
  otherHistory: 'otherHistory',
  behind: 'otherHistory',
  gap: 'gap',
  moved: 'gap',
}

/** Copies from the files of a server, of zabra or of Apache ZooKeeper. */
export class DirectorySource implements BackupSource {
  readonly name: string
  private readonly dataDir: string
  private readonly logDir: string
  private readonly warn: (text: string) => void

  constructor(dataDir: string, logDir: string | undefined, warn: (text: string) => void) {
    this.name = resolve(dataDir)
    this.dataDir = dataDir
    this.logDir = logDir ?? dataDir
    this.warn = warn
  }

  async openSnapshot(): Promise<SnapshotCopy> {
    const { directory, files } = await findSnapshots(this.dataDir)
    for (const snapshot of files.toReversed()) {
      const { name, zxid } = snapshot
      if ((await snapshotReach(disk, directory, snapshot, zlibCompression)) === undefined) {
        this.warn(`${directory}/${name} cannot be read; an older snapshot is used`)
        continue
      }
      const file = await disk.openRead(`${directory}/${name}`)
      return { name, zxid, bytes: file.bytes, chunks: closing(file) }
    }
    throw new CommandError(`none of the snapshots in ${directory} can be read`, { code: 'damaged' })
  }

  async copyLog(collector: RecordCollector): Promise<LogCopy> {
    const takenAt = new Date().toISOString()
    const directories = { snapshotDir: inner(this.dataDir), logDir: inner(this.logDir) }
    const { zxid: after, checksum } = collector
    try {
      const files = await pastFiles(disk, directories)
      for await (const chunk of copyRecords(disk, files, { after, checksum }))
        await collector.push(chunk)
    } catch (error) {
      if (!(error instanceof CopyError)) throw error
      throw new BrokenChainError(reasons[error.problem], error.message)
    }
    return { to: collector.zxid, takenAt }
  }
}

async function* closing(
  file: Parameters<typeof fileChunks>[0],
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* fileChunks(file)
  } finally {
    await file.close()
  }
}

function inner(path: string): string {
  const folder = join(resolve(path), 'version-2')
  return existsSync(folder) ? folder : resolve(path)
}
