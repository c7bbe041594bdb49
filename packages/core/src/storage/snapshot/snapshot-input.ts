import { MalformedError, Reader } from '@zabra/protocol'
import type { Disk } from '../../ports.ts'
import { adler32 } from '../../base/checksum.ts'
import type { SnapshotCompression } from '../disk/files.ts'
import { ReadAhead } from '../disk/read-ahead.ts'
import type { Compression } from './snapshot-output.ts'
import { snappyDecoder } from './snappy.ts'

const chunkBytes = 4 * 1024 * 1024
const compressedChunkBytes = 256 * 1024
/** The approximate compression ratio of a snapshot. */
const usualRatio = 8

/** A compression or a decompression. */
export interface Transform {
  /** The output since the last call; valid until the next one. */
  push(bytes: Uint8Array): Promise<Uint8Array>
  end(): Promise<Uint8Array>
  /** Frees its resources. */
  close(): void
}

/**
 * A snapshot being read: a window of its plain bytes that moves on, and the running checksum of
 * what the window has left behind.
 */
export class SnapshotInput {
  readonly reader: Reader
  /** The size of the file, compressed or not. */
  readonly fileBytes: number
  private readonly next: (into: Uint8Array) => Promise<number>
  private readonly closeFile: () => Promise<void>
  private buffer: Uint8Array
  private adler = 1
  /** The position in the buffer up to which the checksum is computed. */
  private summed = 0
  private movedOut = 0
  private ended = false

  constructor(
    next: (into: Uint8Array) => Promise<number>,
    closeFile: () => Promise<void>,
    { fileBytes, windowBytes }: { fileBytes: number; windowBytes: number },
  ) {
    this.next = next
    this.closeFile = closeFile
    this.fileBytes = fileBytes
    this.buffer = new Uint8Array(windowBytes)
    this.reader = new Reader(this.buffer, 0, 0)
  }

  /** The number of plain bytes read. */
  get position(): number {
    return this.movedOut + this.reader.position
  }

  /** The checksum of everything before the reader's position. */
  checksum(): number {
    const { position } = this.reader
    this.adler = adler32(this.buffer, this.summed, position, this.adler)
    this.summed = position
    return this.adler
  }

  /** Appends more bytes to the unread ones; false at the end of the file. */
  async more(): Promise<boolean> {
    if (this.ended) return false
    this.checksum()
    const { reader } = this
    const rest = reader.remaining
    const from = reader.position
    let target = this.buffer
    if (rest * 2 > target.length) target = new Uint8Array(target.length * 2)
    target.set(this.buffer.subarray(from, from + rest))
    this.buffer = target
    this.movedOut += from
    this.summed = 0
    reader.reset(target, 0, rest)
    const count = await this.next(target.subarray(rest))
    reader.end = rest + count
    if (count === 0) this.ended = true
    return count > 0
  }

  async atEnd(): Promise<boolean> {
    return this.reader.remaining === 0 && !(await this.more())
  }

  expect(bytes: number): void {
    if (this.reader.remaining < bytes) throw new MalformedError('it ends too early')
  }

  close(): Promise<void> {
    return this.closeFile()
  }
}

/** Opens a snapshot, compressed or not, as plain bytes. */
export async function openSnapshotInput(
  disk: Disk,
  path: string,
  method: SnapshotCompression,
  compression?: Compression,
): Promise<SnapshotInput> {
  const file = await disk.openRead(path)
  let position = 0
  const stored = async (into: Uint8Array): Promise<number> => {
    const count = await file.read(position, into)
    position += count
    return count
  }
  const fileBytes = file.bytes
  if (method === 'plain') {
    const windowBytes = chunkFor(fileBytes)
    const ahead = new ReadAhead(stored, windowBytes)
    const close = async (): Promise<void> => {
      await ahead.settled()
      await file.close()
    }
    return new SnapshotInput((into) => ahead.read(into), close, { fileBytes, windowBytes })
  }
  if (method === 'gz' && compression === undefined) {
    await file.close()
    throw new MalformedError('there is nothing here to decompress it with')
  }
  const decoder = method === 'snappy' ? snappyDecoder() : compression!.gunzip()
  const close = async (): Promise<void> => {
    decoder.close()
    await file.close()
  }
  const windowBytes = chunkFor(fileBytes * usualRatio)
  return new SnapshotInput(decoded(stored, decoder, fileBytes), close, { fileBytes, windowBytes })
}

/** No more memory than the file has bytes. */
function chunkFor(bytes: number, bytesMax = chunkBytes): number {
  return Math.max(16, Math.min(bytesMax, bytes))
}

function decoded(
  stored: (into: Uint8Array) => Promise<number>,
  decoder: Transform,
  fileBytes: number,
): (into: Uint8Array) => Promise<number> {
  const chunk = new Uint8Array(chunkFor(fileBytes, compressedChunkBytes))
  let ready: Uint8Array = new Uint8Array(0)
  let ended = false
  return async (into) => {
    while (ready.length === 0 && !ended) {
      const count = await stored(chunk)
      ended = count === 0
      ready = ended ? await decoder.end() : await decoder.push(chunk.subarray(0, count))
    }
    const count = Math.min(into.length, ready.length)
    into.set(ready.subarray(0, count))
    ready = ready.subarray(count)
    return count
  }
}
