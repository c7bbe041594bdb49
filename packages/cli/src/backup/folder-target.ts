import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { disk } from '../offline/files.ts'
import { measured, type BackupTarget, type Written } from './target.ts'

/** The suffix of a folder while a backup is written to it. */
export const unfinishedSuffix = '.unfinished'

/** A folder that gets its final name when everything in it is durable. */
export class FolderTarget implements BackupTarget {
  private readonly directory: string
  private readonly folder: string
  private readonly path: string

  private constructor(directory: string, folder: string) {
    this.directory = directory
    this.folder = folder
    this.path = join(directory, `${folder}${unfinishedSuffix}`)
  }

  static async open(directory: string, folder: string): Promise<FolderTarget> {
    const target = new FolderTarget(directory, folder)
    await mkdir(target.path)
    return target
  }

  async write(
    name: string,
    _bytes: number,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Written> {
    const file = await open(join(this.path, name), 'wx')
    try {
      const written = await measured(chunks, async (chunk) => {
        await file.writeFile(chunk)
      })
      await file.sync()
      return written
    } finally {
      await file.close()
    }
  }

  async commit(): Promise<void> {
    await disk.syncDirectory(this.path)
    await rename(this.path, join(this.directory, this.folder))
    await disk.syncDirectory(this.directory)
  }

  async abandon(): Promise<boolean> {
    await rm(this.path, { recursive: true, force: true })
    return true
  }

  /** The path of a file until the backup is complete. */
  get unfinishedPath(): string {
    return this.path
  }
}
