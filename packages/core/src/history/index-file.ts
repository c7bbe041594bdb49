/**
 * The index of a complete log, in a file. It contains nothing that the log does not contain; if it
 * is missing or damaged, it is made from the log again.
 *
 *     text  "zabra-history-index 1"
 *     long  size of the log        the index is invalid if the log has another size
 *     long  end of the last record
 *     text  why the log ended there
 *     int   number of blocks, each: position, end, zxids, times (longs), records (int), filter
 *     int   CRC-32 of the above
 */
import { MalformedError, Reader, Writer } from '@zabra/protocol'
import { crc32 } from '../base/checksum.ts'
import { faultCode, type Disk, type FileEntry } from '../ports.ts'
import type { LogEndReason } from '../storage/log/log-reader.ts'
import { storedAmong, unfinishedName, type StoredFile } from '../storage/disk/files.ts'
import type { LogBlock, LogIndex } from './log-index.ts'

const title = 'zabra-history-index 1'
const blockBytesMin = 56

export function indexName(firstZxid: bigint): string {
  return `index.${firstZxid.toString(16)}`
}

/** Indexes, each with the zxid of its log, in ascending order of it. */
export function indexesAmong(entries: readonly FileEntry[]): StoredFile[] {
  return storedAmong(entries, /^index\.([0-9a-f]{1,16})$/)
}

export async function writeIndex(
  disk: Disk,
  directory: string,
  name: string,
  index: LogIndex,
): Promise<void> {
  await disk.makeDirectory(directory)
  const unfinished = `${directory}/${unfinishedName(name)}`
  const file = await disk.create(unfinished)
  try {
    await file.write(encodeIndex(index), 0)
  } finally {
    await file.close()
  }
  // The rename is not synced: if a crash undoes it, the index is made again.
  await disk.rename(unfinished, `${directory}/${name}`)
}

/** Undefined if there is no index. Throws a MalformedError if it is damaged. */
export async function readIndex(disk: Disk, path: string): Promise<LogIndex | undefined> {
  try {
    const file = await disk.openRead(path)
    try {
      const bytes = new Uint8Array(file.bytes)
      return decodeIndex(bytes.subarray(0, await file.read(0, bytes)))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function encodeIndex({ blocks, end, endReason, fileBytes }: LogIndex): Uint8Array {
  const writer = new Writer(64 * 1024)
  writer.ustring(title)
  writer.long(BigInt(fileBytes))
  writer.long(BigInt(end))
  writer.ustring(endReason)
  writer.int(blocks.length)
  for (const block of blocks) {
    writer.long(BigInt(block.position))
    writer.long(BigInt(block.end))
    writer.long(block.firstZxid)
    writer.long(block.lastZxid)
    writer.long(BigInt(block.minMs))
    writer.long(BigInt(block.maxMs))
    writer.int(block.records)
    writer.buffer(block.filter ?? null)
  }
  writer.int(crc32(writer.bytes, 0, writer.position))
  return writer.written()
}

function decodeIndex(bytes: Uint8Array): LogIndex {
  const end = bytes.length - 4
  if (end < 0) throw new MalformedError('it is too short')
  const check = new Reader(bytes, end)
  if (check.int() !== (crc32(bytes, 0, end) | 0)) throw new MalformedError('its checksum is wrong')
  const reader = new Reader(bytes, 0, end)
  if (reader.ustring() !== title) throw new MalformedError('it does not begin like an index')
  const fileBytes = Number(reader.long())
  const recordsEnd = Number(reader.long())
  const endReason = reader.ustring() as LogEndReason
  const count = reader.count(blockBytesMin)
  const blocks: LogBlock[] = []
  for (let i = 0; i < count; i++) {
    blocks.push({
      position: Number(reader.long()),
      end: Number(reader.long()),
      firstZxid: reader.long(),
      lastZxid: reader.long(),
      minMs: Number(reader.long()),
      maxMs: Number(reader.long()),
      records: reader.int(),
      filter: reader.buffer()?.slice(),
    })
  }
  return { blocks, end: recordsEnd, endReason, fileBytes }
}
