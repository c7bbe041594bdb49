import { once } from 'node:events'
import type { Io } from '../framework/io.ts'
import { measured, type BackupTarget, type Written } from './target.ts'
import { tarEnd, tarHeader, tarPadding } from './tar.ts'

/** A tar stream: `tar x` creates the same folder as a backup into a directory. */
export class TarTarget implements BackupTarget {
  private readonly stdout: Io['stdout']
  private readonly folder: string
  private hasBegun = false

  constructor(stdout: Io['stdout'], folder: string) {
    this.stdout = stdout
    this.folder = folder
  }

  async write(
    name: string,
    bytes: number,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Written> {
    await this.put(tarHeader(`${this.folder}/${name}`, bytes, Date.now()))
    const written = await measured(chunks, (chunk) => this.put(chunk))
    if (written.bytes !== bytes)
      throw new Error(`${name} has ${written.bytes} bytes instead of ${bytes}`)
    await this.put(tarPadding(bytes))
    return written
  }

  async commit(): Promise<void> {
    await this.put(tarEnd)
  }

  /** The stream so far has no end mark and no sums, so a reader sees that it is incomplete. */
  async abandon(): Promise<boolean> {
    return !this.hasBegun
  }

  private async put(chunk: Uint8Array): Promise<void> {
    this.hasBegun = true
    if (chunk.length > 0 && !this.stdout.write(chunk)) await once(this.stdout, 'drain')
  }
}
