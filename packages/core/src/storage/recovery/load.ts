import { Database, type DatabaseOptions } from '../../state/database.ts'
import type { Disk } from '../../ports.ts'
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

/** The database of a data directory: the newest sound snapshot and every transaction after it. */
export async function loadDatabase(
  disk: Disk,
  recovery: RecoveryOptions,
  options: DatabaseOptions,
  /** Called with each logged transaction; the bytes are reused afterwards. */
  onReplayed?: (payload: Uint8Array) => void,
): Promise<{ db: Database; recovered: Recovered<unknown> }> {
  const recovered = await recover(
    disk,
    recovery,
    () => new LoadingDatabase(options, onReplayed),
    (target) => {
      target.createSystemNodes()
      return target.db.snapshotSource()
    },
  )
  const { db } = recovered.target
  db.finishLoading()
  return { db, recovered }
}
