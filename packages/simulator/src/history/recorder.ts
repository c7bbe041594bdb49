/** Records what servers did, as visible from outside: their files, starts and ends. */
import {
  loadDatabase,
  LogFileReader,
  readLogs,
  type Database,
  type Disk,
  type Membership,
  type MemoryDisk,
} from '@zabra/core'
import { withoutWrong } from '../faults/wrong-tree.ts'
import { derivedProblems } from './derived.ts'
import type { SimServer } from '../cluster/server.ts'
import type { World } from '../world/world.ts'
import { EnsembleRecord } from './ensemble-record.ts'
import type { History } from './history.ts'
import { Transcript, type Line } from './transcript.ts'
import { dumpTree, type TreeDump } from './tree-dump.ts'

/** The result of one recovery of a disk. */
export interface Recovery {
  readonly zxid: bigint
  readonly digest: bigint
  readonly sessions: string
}

/** The state in which a life of a server began. */
export interface Life {
  readonly server: string
  readonly life: number
  readonly zxid: bigint
  /** The recovered tree. */
  readonly tree: TreeDump
}

const earlyToleranceMs = 2
/** The number of disk states whose recovery is cached. */
const recoveriesKept = 50

export class Recorder {
  /** Undefined for a standalone server. */
  readonly ensemble: EnsembleRecord | undefined
  /**
   * Payloads by zxid: for a standalone server the log as every start and the end found it; for an
   * ensemble everything that any server ever held, including discarded transactions.
   */
  readonly log = new Map<bigint, Uint8Array>()
  readonly lives: Life[] = []
  readonly violations: string[] = []
  readonly expiredSessions = new Set<bigint>()
  readonly transcript = new Transcript()
  readonly counts = new Map<string, number>()
  /** Called when a server has expired a session. */
  onExpired: ((sessionId: bigint) => void) | undefined
  private readonly recoveries = new Map<string, Promise<Recovery | undefined>>()
  private readonly world: World
  private readonly history: History

  constructor(world: World, history: History, membership: Membership | undefined) {
    this.world = world
    this.history = history
    if (membership !== undefined) this.ensemble = new EnsembleRecord(this, membership)
  }

  trace(line: Line): void {
    this.transcript.add(this.world.nowMs, line)
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  violation(what: string): void {
    this.trace(`VIOLATION: ${what}`)
    this.violations.push(what)
  }

  /** Recovers a copy of the disk twice: repairs must not change the result. */
  async beforeStart(server: SimServer): Promise<Recovery | undefined> {
    const copy = server.disk.files.copy()
    const first = await this.recoverAside(server, copy)
    if (first === undefined) return undefined
    const second = await this.recoverAside(server, copy)
    if (second !== undefined && !isSame(first, second)) {
      this.violation(`a second recovery gives ${describe(second)}, the first ${describe(first)}`)
    }
    return first
  }

  /** Recovers these files, which may repair them; equal files give equal results. */
  recoverAside(server: SimServer, disk: MemoryDisk): Promise<Recovery | undefined> {
    const state = `${server.name} ${disk.state(isRecovered)}`
    const known = this.recoveries.get(state)
    if (known !== undefined) return known
    const recovery = this.recover(server, disk)
    // Repaired files are in another state.
    const { recoveries } = this
    recoveries.set(state, recovery)
    if (recoveries.size > recoveriesKept) recoveries.delete(recoveries.keys().next().value!)
    return recovery
  }

  private async recover(server: SimServer, disk: Disk): Promise<Recovery | undefined> {
    const { snapshotDir, logDir } = server.options.journal
    try {
      const { db } = await loadDatabase(disk, { snapshotDir, logDir }, server.options.database)
      return recoveryOf(db)
    } catch (error) {
      this.violation(`what ${server.name} left on its disk cannot be recovered: ${String(error)}`)
      return undefined
    }
  }

  started(server: SimServer, db: Database, expected: Recovery | undefined): void {
    const actual = recoveryOf(db)
    this.trace(() => `${server.name} has recovered ${describe(actual)}`)
    this.count('starts')
    if (expected !== undefined && !isSame(expected, actual)) {
      this.violation(
        `${server.name} recovered ${describe(actual)}, but ${describe(expected)} is there`,
      )
    }
    for (const problem of derivedProblems(db)) this.violation(`${server.name}: ${problem}`)
    const { name, life } = server
    const tree = this.ensemble?.treesMayDiffer === true ? withoutWrong(dumpTree(db)) : dumpTree(db)
    this.lives.push({ server: name, life, zxid: actual.zxid, tree })
    if (this.ensemble === undefined) {
      for (const zxid of this.log.keys()) if (zxid > actual.zxid) this.log.delete(zxid)
    }
    void this.readLog(server.disk.files, server.options.journal.logDir, actual.zxid)
  }

  /** Reads the log, and checks that it contains what was there before. */
  async readLog(disk: MemoryDisk, directory: string, upTo: bigint): Promise<void> {
    for await (const { records } of readLogs(disk, directory, 0n)) {
      while (records.next()) {
        if (records.zxid <= upTo) this.note(records.zxid, rest(records.reader))
      }
    }
  }

  async fileRemoved(server: SimServer, path: string): Promise<void> {
    if (!/\/log\.[0-9a-f]+$/.test(path)) return
    // Another task may have removed the file already.
    const log = await LogFileReader.open(server.disk.files, path).catch(() => undefined)
    if (log === undefined) return
    for await (const records of log) {
      while (records.next()) this.note(records.zxid, rest(records.reader))
    }
  }

  /** One zxid must be one transaction. */
  note(zxid: bigint, payload: Uint8Array): void {
    const known = this.log.get(zxid)
    if (known === undefined) {
      this.log.set(zxid, new Uint8Array(payload))
    } else if (Buffer.compare(known, payload) !== 0) {
      this.violation(`a log holds something else at zxid ${zxid} than before`)
    }
  }

  sessionExpired(sessionId: bigint, silentMs: number, believedMs: number): void {
    // The promised timeout counts, if the client ever learned of the session.
    const promised = this.history.sessions.get(sessionId)
    const timeoutMs = promised?.timeoutMs ?? believedMs
    this.count('sessions expired')
    this.expiredSessions.add(sessionId)
    this.onExpired?.(sessionId)
    this.trace(`session ${sessionId} expires after ${silentMs} of ${timeoutMs} ms`)
    if (promised !== undefined && silentMs + earlyToleranceMs < timeoutMs) {
      this.violation(`session ${sessionId} expired after ${silentMs} ms of its ${timeoutMs}`)
    }
  }
}

/** Recovery reads neither the epochs nor the configuration. */
function isRecovered(path: string): boolean {
  return !path.includes('Epoch') && !path.includes('zoo.cfg')
}

function rest({ bytes, position, end }: { bytes: Uint8Array; position: number; end: number }) {
  return bytes.subarray(position, end)
}

export function recoveryOf(db: Database): Recovery {
  const sessions = [...db.sessions].map(([id, ms]) => `${id}:${ms}`).toSorted()
  return { zxid: db.lastZxid, digest: db.tree.digest.value, sessions: sessions.join() }
}

function isSame(a: Recovery, b: Recovery): boolean {
  return a.zxid === b.zxid && a.digest === b.digest && a.sessions === b.sessions
}

function describe({ zxid, digest, sessions }: Recovery): string {
  return `zxid ${zxid}, digest ${digest.toString(16)}, sessions [${sessions}]`
}
