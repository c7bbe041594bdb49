import { Database, type DatabaseOptions } from '../database.ts'
import type { Disk } from '../ports.ts'
import { recover, type Recovered, type RecoveryOptions, type RecoveryTarget } from './recovery.ts'

/** A database as recovery fills it. */
class LoadingDatabase implements RecoveryTarget {
  readonly db: Database

  constructor(options: DatabaseOptions) {
    this.db = new Database(options)
    this.db.isLoading = true
    this.db.createSystemNodes()
  }

  get lastZxid(): bigint {
    return this.db.lastZxid
  }

  set lastZxid(zxid: bigint) {
    this.db.advance(zxid)
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
    ({ db }) => db.snapshotSource(),
  )
  const { db } = recovered.target
  db.finishLoading()
  return { db, recovered }
}
