import { Database, type DatabaseOptions } from '../database.ts'
import type { Disk } from '../ports.ts'
import { recover, type Recovered, type RecoveryOptions, type RecoveryTarget } from './recovery.ts'

/** A database as recovery fills it. */
class LoadingDatabase implements RecoveryTarget {
  readonly db: Database
  private hasSystemNodes = false

  constructor(options: DatabaseOptions) {
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
    // Only now: a snapshot brings them itself.
    if (!this.hasSystemNodes) this.createSystemNodes()
    this.db.replay(...args)
  }
}

/** The database of a data directory: the newest sound snapshot and every transaction after it. */
export async function loadDatabase(
  disk: Disk,
  recovery: RecoveryOptions,
  options: DatabaseOptions,
): Promise<{ db: Database; recovered: Recovered<unknown> }> {
  const recovered = await recover(
    disk,
    recovery,
    () => new LoadingDatabase(options),
    (target) => {
      target.createSystemNodes()
      return target.db.snapshotSource()
    },
  )
  const { db } = recovered.target
  db.finishLoading()
  return { db, recovered }
}
