/** What servers did, as far as it can be seen from outside: their files, starts and ends. */
import {
  loadDatabase,
  LogFileReader,
  readLogs,
  type Database,
  type Disk,
  type Membership,
  type MemoryDisk,
} from '@zabra/core'
import { derivedProblems } from './derived.ts'
import type { SimServer } from '../cluster/server.ts'
import type { World } from '../world/world.ts'
import { EnsembleRecord } from './ensemble-record.ts'
import type { History } from './history.ts'
import { Transcript, type Line } from './transcript.ts'
import { dumpTree, type TreeDump } from './tree-dump.ts'

/** What one recovery of a disk gives. */
export interface Recovery {
  readonly zxid: bigint
  readonly digest: bigint
  readonly sessions: string
}

/** What a life of a server started from. */
export interface Life {
  readonly server: string
  readonly life: number
  readonly zxid: bigint
  /** The tree that recovery gave. */
  readonly tree: TreeDump
}

const earlyToleranceMs = 2
/** How many states of disks it is remembered of what recovery makes of them. */
const recoveriesKept = 50

export class Recorder {
  /** Undefined for a server on its own. */
  readonly ensemble: EnsembleRecord | undefined
  /**
   * Payloads by zxid: the log of a server on its own, as every start and the end found it; of an
   * ensemble everything that any server ever held, also what was given up again.
   */
  readonly log = new Map<bigint, Uint8Array>()
  readonly lives: Life[] = []
  readonly violations: string[] = []
  readonly expiredSessions = new Set<bigint>()
  readonly transcript = new Transcript()
  readonly counts = new Map<string, number>()
  /** A server has ended a session for silence. */
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

  /** What recovery makes of a copy of the disk, twice: mending must not change the outcome. */
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

  /** What recovery makes of these files, which it may mend; the same files give the same. */
  recoverAside(server: SimServer, disk: MemoryDisk): Promise<Recovery | undefined> {
    const state = `${server.name} ${disk.state(isRecovered)}`
    const known = this.recoveries.get(state)
    if (known !== undefined) return known
    const recovery = this.recover(server, disk)
    // What recovery has mended is in another state.
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
    this.lives.push({ server: name, life, zxid: actual.zxid, tree: dumpTree(db) })
    if (this.ensemble === undefined) {
      for (const zxid of this.log.keys()) if (zxid > actual.zxid) this.log.delete(zxid)
    }
    void this.readLog(server.disk.files, server.options.journal.logDir, actual.zxid)
  }

  /** Notes what is in the log, and that it is what was there before. */
  async readLog(disk: MemoryDisk, directory: string, upTo: bigint): Promise<void> {
    for await (const { records } of readLogs(disk, directory, 0n)) {
      while (records.next()) {
        if (records.zxid <= upTo) this.note(records.zxid, rest(records.reader))
      }
    }
  }

  async fileRemoved(server: SimServer, path: string): Promise<void> {
    if (!/\/log\.[0-9a-f]+$/.test(path)) return
    // Whoever removes it may find that somebody else has done so already.
    const log = await LogFileReader.open(server.disk.files, path).catch(() => undefined)
    if (log === undefined) return
    for await (const records of log) {
      while (records.next()) this.note(records.zxid, rest(records.reader))
    }
  }

  /** One zxid, one transaction. */
  note(zxid: bigint, payload: Uint8Array): void {
    const known = this.log.get(zxid)
    if (known === undefined) {
      this.log.set(zxid, new Uint8Array(payload))
    } else if (Buffer.compare(known, payload) !== 0) {
      this.violation(`a log holds something else at zxid ${zxid} than before`)
    }
  }

  sessionExpired(sessionId: bigint, silentMs: number, believedMs: number): void {
    // What counts is what the client was promised, if it ever heard of the session.
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

/** Recovery does not look at the epochs, nor at the configuration. */
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
