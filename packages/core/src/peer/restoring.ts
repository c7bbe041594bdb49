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
 * A database from elsewhere takes the place of that of a whole ensemble.
 *
 * Only a leader can do that: what it holds then counts as one more transaction of its history, which
 * no other server has. It gives up its office, is elected again for the longer history, and brings
 * everybody to it by a snapshot. Until a quorum has that, it may be lost like any transaction.
 */
export class Restoring {
  private readonly parts: RestoringParts
  private readonly limitMs: number
  /** Under way while the database is replaced: nothing is proposed meanwhile. */
  private replacing: Promise<void> | undefined
  /** Settled by whoever is elected after we gave up our office. */
  private leadingAgain: Deferred<void> | undefined

  /** `limitMs`: how long being elected again may take. */
  constructor(parts: RestoringParts, limitMs: number) {
    this.parts = parts
    this.limitMs = limitMs
  }

  get isReplacing(): boolean {
    return this.replacing !== undefined
  }

  async restore(restored: RestoredDatabase): Promise<void> {
    await this.surpass(epochOf(restored.reached))
    const leader = this.establishedLeader()
    this.replacing = this.replaceBy(restored, leader)
    await this.replacing.catch((error: Error) => {
      leader.end(error)
      throw error
    })
    await this.leadAgain('the database was restored: the others have to take it over')
  }

  /** What is being restored is what we vote with, even if we have lost our office meanwhile. */
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
   * What comes from an ensemble with more epochs than ours must not be of a future one here. As all
   * histories are equal, another server may be elected; who asks that one finds the epochs passed.
   */
  private async surpass(epoch: bigint): Promise<void> {
    const leader = this.establishedLeader()
    if (epoch <= leader.leader.epoch) return
    await this.parts.epochs.setAccepted(epoch)
    await this.leadAgain('the epochs of the database to be restored must lie behind us')
  }

  private async replaceBy(restored: RestoredDatabase, leader: Leading): Promise<void> {
    const { history, journal, committedLog, host } = this.parts
    const { committed, committedText } = this.parts.configs
    this.parts.stopServing()
    await leader.finish()
    if (leader.leader.uncommitted.length > 0)
      throw new Error('what is proposed cannot be committed')
    const db = renamed(restored, history.lastZxid)
    // Who the members are is not a matter of what they hold.
    db.setConfig(committedText, committed.version, host.wallMs())
    await journal.replaceBy(
      () => db.snapshotSource(),
      () => {
        committedLog.clear()
        history.become(db)
      },
    )
  }

  /** Gives up our office; resolves when it is ours again, and a quorum has what we have. */
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
