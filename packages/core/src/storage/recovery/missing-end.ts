import { logName, type StoredFile } from '../disk/files.ts'
import type { Extent } from '../log/extent.ts'
import { RecoveryError } from './recovery-error.ts'
import { hex } from '../../base/hex.ts'
import type { RecoveryOptions } from './recovery.ts'

/**
 * How recovery treats the end of the logs: nothing is missing, the operator accepts the loss, or a
 * leader must send what is missing.
 */
export type EndVerdict = 'complete' | 'accepted' | 'lacking'

/** Compares the end of the files with the noted extent. */
export class EndCheck {
  /** Everything up to here is noted as durable; undefined without a note. */
  readonly durableTo: bigint | undefined
  private readonly options: RecoveryOptions
  private readonly extent: Extent | undefined
  private readonly logs: readonly StoredFile[]

  constructor(options: RecoveryOptions, extent: Extent | undefined, logs: readonly StoredFile[]) {
    this.options = options
    this.extent = extent
    this.logs = logs
    this.durableTo = extent?.zxid
  }

  /** Throws if acknowledged transactions may be missing and no other server can send them. */
  judge(reached: bigint): EndVerdict {
    const { extent } = this
    const problem = extent === undefined ? undefined : this.problem(extent, reached)
    if (extent === undefined || problem === undefined) return 'complete'
    const { acceptDamage, othersHaveIt, logDir, trace = () => {} } = this.options
    const newest = this.logs.at(-1)
    const file = newest === undefined ? logDir : `${logDir}/${newest.name}`
    if (acceptDamage === true) {
      trace({ type: 'lossAccepted', file, problem, lastZxid: reached })
      return 'accepted'
    }
    if (!extent.isSynced) {
      trace({ type: 'unsyncedLost', file, problem })
      return 'complete'
    }
    if (othersHaveIt === true) {
      trace({ type: 'endMissing', file, problem })
      return 'lacking'
    }
    throw new RecoveryError(
      file,
      problem,
      'restore the missing files from a copy; or, if an older state is here on purpose or the missing ' +
        'transactions may be lost, start once with recovery.acceptDamage=true',
    )
  }

  private problem({ zxid, log, isClosed }: Extent, reached: bigint): string | undefined {
    if (reached < zxid) {
      const what = this.logs.length === 0 ? 'there is no log' : 'the logs end here'
      return (
        `${what}, and the database at zxid ${hex(reached)}, but transactions up to ${hex(zxid)} were ` +
        'durable: those in between are missing'
      )
    }
    const newest = this.logs.at(-1)
    const isThere = log === undefined || (newest !== undefined && newest.zxid >= log)
    if (isClosed || isThere) return undefined
    return (
      `${logName(log)} was in use when the server last ran, and is missing: its transactions after ` +
      `zxid ${hex(zxid)} are unknown`
    )
  }
}
