import type { Disk } from '../../ports.ts'
import { compressionOf, type StoredFile } from '../disk/files.ts'
import { isSnappy } from './snappy.ts'

/** The end of a complete plain snapshot: the path "/". */
const ending = [0, 0, 0, 1, 0x2f]
const plainBytesMin = 10

/** Apache's quick test whether a file looks complete. Only loading it proves more. */
export async function looksComplete(
  disk: Disk,
  directory: string,
  file: StoredFile,
): Promise<boolean> {
  const handle = await disk.openRead(`${directory}/${file.name}`)
  try {
    const compression = compressionOf(file.name)
    if (compression === 'plain') {
      if (handle.bytes < plainBytesMin) return false
      const last = new Uint8Array(ending.length)
      await handle.read(handle.bytes - ending.length, last)
      return ending.every((byte, i) => last[i] === byte)
    }
    const first = new Uint8Array(8)
    await handle.read(0, first)
    return compression === 'gz' ? first[0] === 0x1f && first[1] === 0x8b : isSnappy(first)
  } finally {
    await handle.close()
  }
}
