/**
 * Snapshots: the whole database in one file, in Apache's format.
 *
 * Sessions, ACLs and nodes are each followed through by a running Adler-32, written down three
 * times ("seals"): after the nodes, after the digest of the tree, and after the last zxid.
 */
import {
  Acl,
  AclList,
  digestVersion,
  FileHeader,
  fileVersion,
  MalformedError,
  snapshotMagic,
  Writer,
  type Reader,
} from '@zabra/protocol'
import type { Disk } from '../../ports.ts'
import { adler32 } from '../../base/checksum.ts'
import type { SnapshotSource } from '../../state/snapshot-source.ts'
import {
  compressionOf,
  snapshotName,
  unfinishedName,
  type SnapshotCompression,
} from '../disk/files.ts'
import { openSnapshotInput, type SnapshotInput } from './snapshot-input.ts'
import { openSnapshotOutput, type Compression } from './snapshot-output.ts'

/** A database being loaded. It must copy what it reads, because the reader's bytes are reused. */
export interface SnapshotSink {
  /** The expected amount of data, according to the size of the file. */
  expect(bytes: number): void
  session(id: bigint, timeoutMs: number): void
  acl(id: bigint, acl: Acl[]): void
  /**
   * Reads a path and its node; false for the terminator "/". Throws MalformedError when the reader
   * ends too early, having changed nothing: it is called again with more.
   */
  node(reader: Reader): boolean
  digest(zxid: bigint, version: number, digest: bigint): void
  /** The last transaction it contains completely, if the file says so (since 3.9). */
  endedAt?(zxid: bigint): void
}

/** The file is not a usable snapshot; the message says why. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

export interface SnapshotOptions {
  /** Bytes to encode in the next turn of the event loop. */
  readonly sliceBytes?: () => number
  readonly method?: SnapshotCompression
  readonly compression?: Compression
  /** Resolves when everything that the snapshot may contain is in the log, durably. */
  readonly logged?: () => Promise<void>
  /** Whether it ends with its last zxid, as since 3.9; true by default. */
  readonly tellsLastZxid?: boolean
}

/** A zxid, a checksum and its mark. */
const lastSectionBytes = 21
/** Encoding this many bytes takes a millisecond or two. */
export const sliceBytesDefault = 256 * 1024
const nodesPerPause = 128
/** A larger node, or list of ACLs, is taken for damage. No request makes one that is half as large. */
export const nodeBytesMax = 512 * 1024 * 1024

/**
 * Streams a snapshot to disk, a slice a turn, under a name that nobody takes for a snapshot until
 * it is complete and durable.
 */
export async function writeSnapshot(
  disk: Disk,
  directory: string,
  source: SnapshotSource,
  options: SnapshotOptions = {},
): Promise<{ file: string; bytes: number }> {
  const { sliceBytes = () => sliceBytesDefault, method = 'plain', compression } = options
  const file = snapshotName(source.zxid, method)
  const unfinished = `${directory}/${unfinishedName(file)}`
  try {
    const output = await openSnapshotOutput(disk, unfinished, method, compression)
    try {
      await writeContent(source, sliceBytes, (bytes) => output.write(bytes), options.tellsLastZxid)
      await output.finish()
    } catch (error) {
      await output.abandon()
      throw error
    }
    await options.logged?.()
    await disk.rename(unfinished, `${directory}/${file}`)
    await disk.syncDirectory(directory)
    return { file, bytes: output.bytes }
  } catch (error) {
    await disk.remove(unfinished).catch(() => {})
    throw error
  } finally {
    source.release()
  }
}

/** Everything from the header to the last seal, handed to `put` in slices. */
async function writeContent(
  source: SnapshotSource,
  sliceBytes: () => number,
  put: (bytes: Uint8Array) => Promise<void>,
  tellsLastZxid = true,
): Promise<void> {
  const writer = new Writer(sliceBytesDefault + 64 * 1024)
  let adler = 1
  let summed = 0
  const sum = (): void => {
    adler = adler32(writer.bytes, summed, writer.position, adler)
    summed = writer.position
  }
  const flush = async (): Promise<void> => {
    sum()
    await put(writer.written())
    writer.reset()
    summed = 0
  }
  const seal = (): void => {
    sum()
    writer.longHalves(0, adler)
    writer.ustring('/')
  }

  FileHeader.write(writer, { magic: snapshotMagic, version: fileVersion, dbid: -1n })
  writeSessions(writer, source)
  writeAcls(writer, source)
  await flush()
  while (source.writeNodes(writer, sliceBytes())) await flush()
  writer.ustring('/')
  const { zxid, digest } = source.finish()
  seal()
  // Without digests there is no such section, as in Apache.
  if (digest !== undefined) {
    writer.long(zxid)
    writer.int(digestVersion)
    writer.long(BigInt.asIntN(64, digest))
    seal()
  }
  if (tellsLastZxid) {
    writer.long(source.zxid)
    seal()
  }
  await flush()
}

/** In one go: the tables must be of one moment, and their count comes first. */
function writeSessions(writer: Writer, source: SnapshotSource): void {
  const at = writer.position
  let count = 0
  writer.int(0)
  for (const [id, timeoutMs] of source.sessions()) {
    writer.long(id)
    writer.int(timeoutMs)
    count++
  }
  writer.intAt(at, count)
}

function writeAcls(writer: Writer, source: SnapshotSource): void {
  const at = writer.position
  let count = 0
  writer.int(0)
  for (const [id, acl] of source.acls()) {
    writer.long(id)
    writer.int(acl.length)
    for (const entry of acl) Acl.write(writer, entry)
    count++
  }
  writer.intAt(at, count)
}

/** Loads a snapshot into a sink. Throws SnapshotError if it is not sound from end to end. */
export async function loadSnapshot(
  disk: Disk,
  directory: string,
  file: string,
  sink: SnapshotSink,
  compression?: Compression,
  /** Called between nodes: undefined while there is time left. */
  pause?: () => Promise<void> | undefined,
): Promise<{ bytes: number }> {
  const path = `${directory}/${file}`
  const input = await openSnapshotInput(disk, path, compressionOf(file), compression)
  try {
    sink.expect(input.fileBytes)
    await input.more()
    await readContent(input, sink, pause)
    return { bytes: input.position }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new SnapshotError(`${path} is damaged near byte ${input.position}: ${error.message}`, {
      cause: error,
    })
  } finally {
    await input.close()
  }
}

async function readContent(
  input: SnapshotInput,
  sink: SnapshotSink,
  pause?: () => Promise<void> | undefined,
): Promise<void> {
  const { reader } = input
  const { magic } = await retried(input, () => FileHeader.read(reader))
  if (magic !== snapshotMagic) throw new MalformedError('it does not start like a snapshot')

  const sessions = await retried(input, () => reader.int())
  for (let i = 0; i < sessions; i++) {
    if (reader.remaining < 12) await retried(input, () => input.expect(12))
    sink.session(reader.long(), reader.int())
  }
  const acls = await retried(input, () => reader.int())
  for (let i = 0; i < acls; i++) {
    const [id, acl] = await retried(input, () => [reader.long(), AclList.read(reader)] as const)
    sink.acl(id, acl)
  }
  await readNodes(input, sink, pause)
  await readSeal(input)

  if (await input.atEnd()) return // Written before 3.6.
  if (await isLastSection(input)) {
    // Written with digests switched off: what follows is the last zxid alone.
    await readLastZxid(input, sink)
    return
  }
  const [zxid, version] = await retried(input, () => [reader.long(), reader.int()] as const)
  if (version < digestVersion) await retried(input, () => reader.nullableText())
  else sink.digest(zxid, version, await retried(input, () => BigInt.asUintN(64, reader.long())))
  await readSeal(input)

  if (await input.atEnd()) return // Written before 3.9.
  await readLastZxid(input, sink)
}

async function readLastZxid(input: SnapshotInput, sink: SnapshotSink): Promise<void> {
  const zxid = await retried(input, () => input.reader.long())
  await readSeal(input)
  sink.endedAt?.(zxid)
}

/** The loop over everything there is: no promise for a node, one for each refill only. */
async function readNodes(
  input: SnapshotInput,
  sink: SnapshotSink,
  pause?: () => Promise<void> | undefined,
): Promise<void> {
  const { reader } = input
  let nodes = 0
  for (;;) {
    let whole = reader.position
    try {
      while (sink.node(reader)) {
        whole = reader.position
        if (pause === undefined || ++nodes % nodesPerPause !== 0) continue
        const pausing = pause()
        if (pausing !== undefined) await pausing
      }
      return
    } catch (error) {
      reader.position = whole
      await refill(input, error)
    }
  }
}

async function readSeal(input: SnapshotInput): Promise<void> {
  const { reader } = input
  await retried(input, () => input.expect(13))
  const expected = BigInt(input.checksum() >>> 0)
  const found = reader.long()
  if (found !== expected) {
    throw new MalformedError(
      `its checksum is ${found.toString(16)}, its content has ${expected.toString(16)}`,
    )
  }
  if (reader.ustring() !== '/') throw new MalformedError('a checksum lacks its mark')
}

/** Whether only a zxid and its seal are left: too little for a digest. */
async function isLastSection(input: SnapshotInput): Promise<boolean> {
  const { reader } = input
  while (reader.remaining <= lastSectionBytes && (await input.more()));
  return reader.remaining === lastSectionBytes
}

/** Reads a small value, and loads more bytes if necessary. */
async function retried<T>(input: SnapshotInput, read: () => T): Promise<T> {
  for (;;) {
    const start = input.reader.position
    try {
      return read()
    } catch (error) {
      input.reader.position = start
      await refill(input, error)
    }
  }
}

async function refill(input: SnapshotInput, error: unknown): Promise<void> {
  if (!(error instanceof MalformedError)) throw error
  if (input.reader.remaining > nodeBytesMax || !(await input.more())) throw error
}
