import { Database, type DatabaseOptions } from '../../state/database.ts'
import type { Disk } from '../../ports.ts'
import { listIfThere, snapshotsAmong } from '../disk/files.ts'
import { putAside } from '../disk/forget.ts'
import { hiding } from '../disk/hiding.ts'
import { RecoveryError } from './recovery-error.ts'
import { recover, type Recovered, type RecoveryOptions, type RecoveryTarget } from './recovery.ts'

/** A database that is filled by recovery or by a leader's snapshot. */
export class LoadingDatabase implements RecoveryTarget {
  readonly db: Database
  private hasSystemNodes = false

  private readonly onReplayed: ((payload: Uint8Array) => void) | undefined

  constructor(options: DatabaseOptions, onReplayed?: (payload: Uint8Array) => void) {
    this.onReplayed = onReplayed
    this.db = new Database(options)
    this.db.isLoading = true
  }

  get lastZxid(): bigint {
    return this.db.lastZxid
  }

  set lastZxid(zxid: bigint) {
    this.db.advance(zxid)
  }

  get comparesDigests(): boolean {
    return this.db.options.digests && this.db.isExact
  }

  get differsFromLog(): boolean {
    return this.db.digests.differingTxns > 0
  }

  createSystemNodes(): void {
    this.db.createSystemNodes()
    this.hasSystemNodes = true
  }

  expect(bytes: number): void {
    this.db.tree.expect(bytes)
  }

  session(...args: Parameters<RecoveryTarget['session']>): void {
    this.db.session(...args)
  }

  acl(...args: Parameters<RecoveryTarget['acl']>): void {
    this.db.acl(...args)
  }

  node(...args: Parameters<RecoveryTarget['node']>): boolean {
    return this.db.node(...args)
  }

  digest(...args: Parameters<RecoveryTarget['digest']>): void {
    this.db.digest(...args)
  }

  apply(...args: Parameters<RecoveryTarget['apply']>): void {
    // Not earlier, because a snapshot contains these nodes.
    if (!this.hasSystemNodes) this.createSystemNodes()
    const [reader] = args
    this.onReplayed?.(reader.bytes.subarray(reader.position, reader.end))
    this.db.replay(reader)
  }
}

/** Gets the transactions that a load replays; the bytes are reused afterwards. */
export interface ReplayListener {
  /** A load begins: what was replayed before does not count. */
  begin(): void
  replayed(payload: Uint8Array): void
}

export interface Loaded {
  readonly db: Database
  readonly recovered: Recovered<unknown>
}

/**
 * The database of a data directory: the newest sound snapshot and every transaction after it.
 *
 * If the tree has not the digest that the log says it must have, the snapshot is perhaps not the one
 * that was written: a disk may have put an older one in its place, or the server's memory was wrong
 * when it took it. Then an older snapshot is used, provided that it leads to the right tree, and the
 * others are put aside. If none does, the newest stays: the digests themselves may be wrong.
 */
export async function loadDatabase(
  disk: Disk,
  recovery: RecoveryOptions,
  options: DatabaseOptions,
  listener?: ReplayListener,
): Promise<Loaded> {
  const load = (from: Disk, how: RecoveryOptions): Promise<Loaded> =>
    loadNewest(from, how, options, listener)
  const newest = await load(disk, recovery)
  if (hasDigestOfLog(newest)) return newest
  const { zxid } = newest.recovered
  // Damage that the newest snapshot does not depend on is no reason to give up what follows it.
  const strict = { ...recovery, acceptDamage: false }
  const loadOld = (from: Disk): Promise<Loaded> => load(from, strict)
  return (await loadOlder(disk, recovery, zxid, loadOld)) ?? load(disk, recovery)
}

function hasDigestOfLog({ db }: Loaded): boolean {
  return db.digests.differingTxns === 0
}

/** Undefined if no older snapshot leads to the tree of the log at this zxid. */
async function loadOlder(
  disk: Disk,
  { snapshotDir, trace = () => {} }: RecoveryOptions,
  zxid: bigint,
  load: (from: Disk) => Promise<Loaded>,
): Promise<Loaded | undefined> {
  const snapshots = snapshotsAmong(await listIfThere(disk, snapshotDir))
  for (let left = snapshots.length - 1; left > 0; left--) {
    const suspect = snapshots.slice(left).map(({ name }) => name)
    const older = await loadIfComplete(() => load(hiding(disk, new Set(suspect))))
    if (older === undefined) return undefined
    if (!hasDigestOfLog(older) || older.recovered.zxid !== zxid) continue
    await putAside(disk, snapshotDir, suspect)
    for (const name of suspect) {
      trace({ type: 'snapshotDiffers', file: `${snapshotDir}/${name}` })
    }
    return older
  }
  return undefined
}

/** Undefined if the logs do not reach back far enough. */
async function loadIfComplete(load: () => Promise<Loaded>): Promise<Loaded | undefined> {
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof RecoveryError)) throw error
    return undefined
  }
}

async function loadNewest(
  disk: Disk,
  recovery: RecoveryOptions,
  options: DatabaseOptions,
  listener: ReplayListener | undefined,
): Promise<Loaded> {
  listener?.begin()
  const recovered = await recover(
    disk,
    recovery,
    () => new LoadingDatabase(options, listener && ((payload) => listener.replayed(payload))),
    (target) => {
      target.createSystemNodes()
      return target.db.snapshotSource()
    },
  )
  const { db } = recovered.target
  db.finishLoading()
  return { db, recovered }
}
