import type { Host } from '../ports.ts'
import type { RestoredDatabase } from '../storage/recovery/restored.ts'
import type { CommittedLog } from '../storage/log/committed-log.ts'
import type { MembershipState } from '../membership/membership-state.ts'
import { Deferred, within } from '../base/deferred.ts'
import { type Epochs } from '../storage/epochs.ts'
import { epochOf } from '../storage/zxid.ts'
import type { Journal } from './journal.ts'
import type { Leading } from './leading.ts'
import type { LocalHistory } from './local-history.ts'
import { renamed, RestoreRefusal } from './peer-base.ts'

const overtaken = 'another server was elected, and nothing is restored: ask that one'

export interface RestoringParts {
  readonly history: LocalHistory
  readonly journal: Journal
  readonly configs: MembershipState
  readonly committedLog: CommittedLog
  readonly epochs: Epochs
  readonly host: Host
  /** The role of this server, if it leads. */
  readonly leading: () => Leading | undefined
  readonly canWrite: () => boolean
  readonly stopServing: () => void
}

/**
 * Replaces the database of a whole ensemble by one from elsewhere.
 *
 * Only a leader can do that: the database then counts as one more transaction of its history, which
 * no other server has. The leader steps down, is elected again for its longer history, and sends the
 * others a snapshot. Until a quorum has it, the database may be lost like any transaction.
 */
export class Restoring {
  private readonly parts: RestoringParts
  private readonly limitMs: number
  /** Set while the database is replaced. Nothing is proposed meanwhile: the leader finishes first. */
  private replacing: Promise<void> | undefined
  /** Set after this server stepped down, until the next leader is known. */
  private leadingAgain: Deferred<void> | undefined

  /** `limitMs`: how long the election may take. */
  constructor(parts: RestoringParts, limitMs: number) {
    this.parts = parts
    this.limitMs = limitMs
  }

  async restore(restored: RestoredDatabase): Promise<void> {
    await this.surpass(epochOf(restored.reached))
    const leader = this.establishedLeader()
    this.replacing = this.replaceBy(restored, leader)
    await this.replacing.catch((error: Error) => {
      leader.end(error)
      throw error
    })
    await this.leadAgain('the database was restored, and the others must get it')
  }

  /** Waits for a replacement under way, because this server votes with the restored database. */
  async roleEnded(): Promise<void> {
    await this.replacing?.catch(() => {})
    this.replacing = undefined
  }

  leads(): void {
    this.leadingAgain?.resolve()
  }

  follows(): void {
    this.leadingAgain?.reject(new RestoreRefusal(overtaken))
  }

  stop(reason: Error): void {
    this.leadingAgain?.reject(reason)
  }

  private establishedLeader(): Leading {
    const leader = this.parts.leading()
    if (leader?.leader.isEstablished !== true) {
      throw new RestoreRefusal(
        'only the leader can restore: it passes the database on to the others',
      )
    }
    if (!this.parts.canWrite()) throw new RestoreRefusal('there is no room on the disk')
    return leader
  }

  /**
   * A database from an ensemble with later epochs must not belong to a future epoch here. So this
   * ensemble first goes to a later epoch. Another server may win that election; a second attempt
   * there finds the epochs passed.
   */
  private async surpass(epoch: bigint): Promise<void> {
    const leader = this.establishedLeader()
    if (epoch <= leader.leader.epoch) return
    await this.parts.epochs.setAccepted(epoch)
    await this.leadAgain('the ensemble must first pass the epochs of the restored database')
  }

  private async replaceBy(restored: RestoredDatabase, leader: Leading): Promise<void> {
    const { history, journal, committedLog, host } = this.parts
    const { committed, committedText } = this.parts.configs
    this.parts.stopServing()
    await leader.finish()
    if (leader.leader.uncommitted.length > 0) throw new Error('proposals cannot be committed')
    const db = renamed(restored, history.lastZxid)
    // The members of this ensemble do not depend on the restored data.
    db.setConfig(committedText, committed.version, host.wallMs())
    await journal.replaceBy(
      () => db.snapshotSource(),
      () => {
        committedLog.clear()
        history.become(db)
      },
    )
  }

  /** Steps down. Resolves when this server leads again, and a quorum has its history. */
  private async leadAgain(reason: string): Promise<void> {
    const again = (this.leadingAgain = new Deferred<void>())
    this.parts.leading()?.end(new Error(reason))
    try {
      await within(this.parts.host, this.limitMs, 'being elected again', again.promise)
    } finally {
      this.leadingAgain = undefined
    }
  }
}
