import {
  loadRestored,
  SnapshotError,
  type DatabaseOptions,
  type Disk,
  type RestoredDatabase,
} from '@zabra/core'
import { zlibCompression } from '../disk/zlib-compression.ts'

/** Where it lies until it is read; a name that the next start removes if we do not. */
const uploadName = 'new.snapshot.upload'

/**
 * Reads a database from the bytes of a snapshot, plain or compressed, by way of a file: they may
 * come slowly, and memory is for the database.
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

/** Says what the name of such a file ends with. */
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
