import { encodeText, MalformedError, type Reader } from '@zabra/protocol'
import type { Disk } from '../../ports.ts'
import { faultCode } from '../../ports.ts'
import type { StoredFile } from '../disk/files.ts'
import type { Compression } from './snapshot-output.ts'
import { loadSnapshot, SnapshotError, type SnapshotSink } from './snapshot.ts'

/**
 * How far the content of a snapshot reaches. Its name says where it began: it is written while
 * transactions go on being applied, and may contain what later ones did.
 */
export interface SnapshotReach {
  /** The last transaction known to have left traces in it. */
  readonly zxid: bigint
  /** Whether no later one can have: the file itself says where the database was in the end. */
  readonly isCertain: boolean
}

/** From `czxid` to `pzxid`: the end of a node. */
const statBytes = 60
const mzxidAt = 8
const pzxidAt = 52
const aclBytes = 8
/** Each server sets this node itself, with the version of the configuration as its zxid. */
const configPath = encodeText('/zookeeper/config')

/**
 * Collects the reach of a snapshot while it is read. A snapshot with a digest tells it. Without
 * one, only the zxids of its nodes do, and these leave no trace of a changed ACL or a new session.
 */
export class ReachWatch implements SnapshotReach {
  private digestZxid = 0n
  private hasSessions = false
  /** The highest zxid of any node, in halves: a bigint for each node would take too long. */
  private high = 0
  private low = 0

  get zxid(): bigint {
    const ofNodes = (BigInt(this.high) << 32n) | BigInt(this.low)
    return this.digestZxid > ofNodes ? this.digestZxid : ofNodes
  }

  get isCertain(): boolean {
    const isEmpty = !this.hasSessions && this.high === 0 && this.low === 0
    return this.digestZxid > 0n || isEmpty
  }

  session(): void {
    this.hasSessions = true
  }

  /** A node was read, from `start` to the reader's position. */
  node({ bytes, view, position }: Reader, start: number): void {
    if (isConfig(bytes, view, start)) return
    const statAt = position - statBytes
    this.reached(view, statAt)
    this.reached(view, statAt + mzxidAt)
    this.reached(view, statAt + pzxidAt)
  }

  private reached(view: DataView, at: number): void {
    const high = view.getInt32(at)
    if (high < this.high) return
    const low = view.getUint32(at + 4)
    if (high === this.high && low <= this.low) return
    this.high = high
    this.low = low
  }

  /** The last transaction that was applied when the last node was written. */
  digest(zxid: bigint): void {
    this.digestZxid = zxid
  }
}

/** Reads a snapshot without keeping any of it. */
class PassingSink implements SnapshotSink {
  readonly watch = new ReachWatch()

  expect(): void {}

  session(): void {
    this.watch.session()
  }

  acl(): void {}

  node(reader: Reader): boolean {
    const start = reader.position
    const pathBytes = reader.int()
    skip(reader, pathBytes)
    if (pathBytes === 1) return false
    skip(reader, Math.max(reader.int(), 0))
    skip(reader, aclBytes + statBytes)
    this.watch.node(reader, start)
    return true
  }

  digest(zxid: bigint): void {
    this.watch.digest(zxid)
  }
}

function skip(reader: Reader, bytes: number): void {
  if (bytes < 0 || bytes > reader.remaining) throw new MalformedError('the record ends too early')
  reader.position += bytes
}

function isConfig(bytes: Uint8Array, view: DataView, start: number): boolean {
  if (view.getInt32(start) !== configPath.length) return false
  return configPath.every((byte, i) => bytes[start + 4 + i] === byte)
}

/** Reads a snapshot to find how far it reaches; undefined if it is not sound. */
export async function snapshotReach(
  disk: Disk,
  directory: string,
  { name }: StoredFile,
  compression?: Compression,
): Promise<SnapshotReach | undefined> {
  const sink = new PassingSink()
  try {
    await loadSnapshot(disk, directory, name, sink, compression)
  } catch (error) {
    const isAboutTheFile =
      error instanceof SnapshotError ||
      error instanceof MalformedError ||
      faultCode(error) !== undefined
    if (isAboutTheFile) return undefined
    throw error
  }
  return sink.watch
}
