import {
  loadRestored,
  SnapshotError,
  type DatabaseOptions,
  type Disk,
  type RestoredDatabase,
} from '@zabra/core'
import { zlibCompression } from '../disk/zlib-compression.ts'

/** The temporary file; if we do not remove it, the next start does. */
const uploadName = 'new.snapshot.upload'

/**
 * Loads a database from the bytes of a snapshot, plain or compressed. They go through a file,
 * because they may arrive slowly, and memory is needed for the database.
 */
export async function receiveSnapshot(
  bytes: AsyncIterable<Uint8Array>,
  disk: Disk,
  directory: string,
  options: DatabaseOptions,
): Promise<RestoredDatabase> {
  const upload = `${directory}/${uploadName}`
  let file: string | undefined
  try {
    const suffix = await store(bytes, disk, upload)
    file = `${uploadName}${suffix}`
    if (suffix !== '') await disk.rename(upload, `${directory}/${file}`)
    return await loadRestored(disk, directory, file, options, zlibCompression)
  } finally {
    await disk.remove(`${directory}/${file ?? uploadName}`)
  }
}

/** The extension of such a file. */
async function store(bytes: AsyncIterable<Uint8Array>, disk: Disk, path: string): Promise<string> {
  const file = await disk.create(path)
  const first = new Uint8Array(2)
  let position = 0
  try {
    for await (const chunk of bytes) {
      if (position < first.length) first.set(chunk.subarray(0, first.length - position), position)
      await file.write(chunk, position)
      position += chunk.length
    }
  } finally {
    await file.close()
  }
  if (position === 0) throw new SnapshotError('nothing was sent')
  if (first[0] === 0x1f && first[1] === 0x8b) return '.gz'
  return first[0] === 0x82 && first[1] === 0x53 ? '.snappy' : ''
}
