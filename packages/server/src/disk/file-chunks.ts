import type { ReadHandle } from '@zabra/core'

const chunkBytes = 256 * 1024

/** The bytes that a file has when it is opened, in chunks. */
export async function* fileChunks(file: ReadHandle): AsyncIterableIterator<Uint8Array> {
  for (let position = 0; position < file.bytes;) {
    const into = new Uint8Array(Math.min(chunkBytes, file.bytes - position))
    const length = await file.read(position, into)
    if (length === 0) throw new Error('the file is shorter than it was')
    position += length
    yield into.subarray(0, length)
  }
}
