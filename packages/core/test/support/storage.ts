/** A database as small as tests need it: nodes by path, and the zxids that were applied. */
import { StatPersisted, TxnHeader, type Acl, type Reader, type Writer } from '@zabra/protocol'
import type { Disk } from '../../src/ports.ts'
import { LogBatch } from '../../src/storage/log/log-batch.ts'
import {
  recover,
  type Recovered,
  type RecoveryOptions,
  type RecoveryTarget,
} from '../../src/storage/recovery/recovery.ts'
import type { RecoveryEvent } from '../../src/storage/recovery/recovery-events.ts'
import type { SnapshotSource } from '../../src/state/snapshot-source.ts'
import { TxnLog } from '../../src/storage/log/txn-log.ts'

const emptyStat: StatPersisted = {
  czxid: 0n,
  mzxid: 0n,
  ctime: 0n,
  mtime: 0n,
  version: 0,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: 0n,
  pzxid: 0n,
}

export interface TestNode {
  readonly data: Uint8Array | null
  readonly aclId: bigint
  readonly stat: StatPersisted
}

export class TestDatabase implements RecoveryTarget {
  lastZxid = 0n
  readonly comparesDigests = false
  readonly differsFromLog = false
  readonly sessions = new Map<bigint, number>()
  readonly acls = new Map<bigint, Acl[]>()
  readonly nodes = new Map<string, TestNode>()
  /** The zxids of records, in the order in which they were applied. */
  readonly applied: bigint[] = []
  expectedBytes = 0
  digestZxid = 0n
  digestValue: bigint | undefined

  /** A fresh tree as Apache has it, without `/zookeeper/config`. */
  static fresh(): TestDatabase {
    const database = new TestDatabase()
    for (const path of ['', '/zookeeper', '/zookeeper/quota']) database.put(path, '')
    return database
  }

  put(path: string, text: string): void {
    const data = Uint8Array.from(text, (letter) => letter.charCodeAt(0))
    this.nodes.set(path, { data, aclId: -1n, stat: emptyStat })
  }

  /** A node that a transaction made. */
  putAt(path: string, zxid: bigint): void {
    const stat = { ...emptyStat, czxid: zxid, mzxid: zxid, pzxid: zxid }
    this.nodes.set(path, { data: null, aclId: -1n, stat })
  }

  expect(bytes: number): void {
    this.expectedBytes = bytes
  }

  session(id: bigint, timeoutMs: number): void {
    this.sessions.set(id, timeoutMs)
  }

  acl(id: bigint, acl: Acl[]): void {
    this.acls.set(id, acl)
  }

  node(reader: Reader): boolean {
    const path = reader.ustring()
    if (path === '/') return false
    const data = reader.buffer()
    const node = { data: data === null ? null : new Uint8Array(data), aclId: reader.long() }
    this.nodes.set(path, { ...node, stat: StatPersisted.read(reader) })
    return true
  }

  digest(zxid: bigint, _version: number, digest: bigint): void {
    this.digestZxid = zxid
    this.digestValue = digest
  }

  apply(reader: Reader): void {
    this.applied.push(TxnHeader.read(reader).zxid)
  }

  source(zxid = this.lastZxid): SnapshotSource {
    const nodes = this.nodes.entries()
    return {
      zxid,
      sessions: () => this.sessions,
      acls: () => this.acls,
      writeNodes: (writer, bytesMax) => writeNodes(nodes, writer, bytesMax),
      // Digests are on; 0 says that there is none yet.
      finish: () => ({
        zxid: this.digestValue === undefined ? 0n : this.lastZxid,
        digest: this.digestValue ?? 0n,
      }),
      release: () => {},
    }
  }
}

function writeNodes(
  nodes: Iterator<[string, TestNode]>,
  writer: Writer,
  bytesMax: number,
): boolean {
  const stop = writer.position + bytesMax
  for (let next = nodes.next(); next.done !== true; next = nodes.next()) {
    const [path, { data, aclId, stat }] = next.value
    writer.ustring(path)
    writer.buffer(data)
    writer.long(aclId)
    StatPersisted.write(writer, stat)
    if (writer.position >= stop) return true
  }
  return false
}

export const directory = 'data/version-2'

/** Adds a record without much in it: a session of that zxid, padded to some size. */
function addRecord(batch: LogBatch, zxid: bigint, bodyBytes = 4): void {
  batch.begin()
  TxnHeader.write(batch.writer, { clientId: zxid, cxid: 1, zxid, time: 1000n, type: -10 })
  for (let i = 0; i < bodyBytes; i++) batch.writer.byte(1 + (i % 255))
  batch.end(zxid)
}

export function batchOf(zxids: readonly number[], bodyBytes = 4): LogBatch {
  const batch = new LogBatch()
  for (const zxid of zxids) addRecord(batch, BigInt(zxid), bodyBytes)
  return batch
}

/** Numbers from one to another, both included. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

/** A log of several appends, closed properly. */
export async function writeLog(
  disk: Disk,
  batches: readonly (readonly number[])[],
  options: { preAllocBytes?: number; bodyBytes?: number } = {},
): Promise<void> {
  const { preAllocBytes = 0, bodyBytes = 4 } = options
  await disk.makeDirectory(directory)
  const log = new TxnLog(disk, { directory, preAllocBytes })
  for (const zxids of batches) await log.append(batchOf(zxids, bodyBytes))
  await log.close()
}

export interface TestRecovery extends Recovered<TestDatabase> {
  readonly events: RecoveryEvent[]
}

export async function recoverTest(
  disk: Disk,
  options: Partial<RecoveryOptions> = {},
): Promise<TestRecovery> {
  const events: RecoveryEvent[] = []
  const recovered = await recover(
    disk,
    {
      snapshotDir: directory,
      logDir: directory,
      trace: (event) => events.push(event),
      ...options,
    },
    () => TestDatabase.fresh(),
    (database) => database.source(),
  )
  return { ...recovered, events }
}
