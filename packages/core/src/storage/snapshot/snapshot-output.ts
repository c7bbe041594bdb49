import type { Disk } from '../../ports.ts'
import type { SnapshotCompression } from '../disk/files.ts'
import { snappyEncoder } from './snappy.ts'
import type { Transform } from './snapshot-input.ts'

/** Compression that the host provides. */
export interface Compression {
  gzip(): Transform
  gunzip(): Transform
}

/** Bytes between syncs: one large sync at the end would delay the log. */
const syncEveryBytes = 4 * 1024 * 1024

export interface SnapshotOutput {
  /** Bytes written to the file. */
  readonly bytes: number
  write(bytes: Uint8Array): Promise<void>
  /** Everything is durable when this resolves. */
  finish(): Promise<void>
  abandon(): Promise<void>
}

export async function openSnapshotOutput(
  disk: Disk,
  path: string,
  method: SnapshotCompression,
  compression?: Compression,
): Promise<SnapshotOutput> {
  if (method === 'gz' && compression === undefined) throw new Error('gz needs a compression')
  const file = await disk.create(path)
  const encoder =
    method === 'plain' ? undefined : method === 'gz' ? compression!.gzip() : snappyEncoder()
  let position = 0
  let synced = 0
  let syncing: Promise<void> = Promise.resolve()
  const put = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0) return
    await file.write(bytes, position)
    position += bytes.length
    if (position - synced < syncEveryBytes) return
    await syncing
    synced = position
    syncing = file.sync()
    // The next call reports the error.
    syncing.catch(() => {})
  }
  return {
    get bytes() {
      return position
    },
    async write(bytes) {
      await put(encoder === undefined ? bytes : await encoder.push(bytes))
    },
    async finish() {
      if (encoder !== undefined) await put(await encoder.end())
      await syncing
      await file.sync()
      await file.close()
    },
    async abandon() {
      encoder?.close()
      await syncing.catch(() => {})
      await file.close().catch(() => {})
    },
  }
}
