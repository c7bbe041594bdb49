import { logName, type StoredFile } from '../disk/files.ts'
import type { Extent } from '../log/extent.ts'
import { RecoveryError } from './recovery-error.ts'
import { hex } from '../../base/hex.ts'
import type { RecoveryOptions } from './recovery.ts'

/**
 * What is to be done about an end that is missing: nothing, as none is; go on without it, by the
 * operator's word; or have a leader bring it.
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
      'restore what is missing from a copy; or, if an older state was put here on purpose or what is ' +
        'missing may be lost, start once with recovery.acceptDamage=true',
    )
  }

  private problem({ zxid, log, isClosed }: Extent, reached: bigint): string | undefined {
    if (reached < zxid) {
      const what = this.logs.length === 0 ? 'it holds no log' : 'the logs end here'
      return (
        `${what}, and the database at zxid ${hex(reached)}, but everything up to ${hex(zxid)} had been ` +
        'made durable: what lies between is missing'
      )
    }
    const newest = this.logs.at(-1)
    const isThere = log === undefined || (newest !== undefined && newest.zxid >= log)
    if (isClosed || isThere) return undefined
    return (
      `${logName(log)} was being written when the server last ran, and is not there: what it held ` +
      `after zxid ${hex(zxid)} is not known`
    )
  }
}
