import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** The state that a role leaves behind. */
export interface Remains {
  /** Logged, and not known to be committed. */
  readonly uncommitted: readonly LoggedTxn[]
  /** The database was half replaced by the leader's when the role ended. */
  readonly memoryDiffersFromDisk: boolean
  /**
   * As leader, it predicted another tree than it has, the log holds what it predicted, and its
   * followers can do without it.
   */
  readonly refutesTree?: boolean
}

/**
 * Applies everything that the log holds, committed or not, or goes back to what the disk holds. What
 * this server votes with next is what a restart would read.
 *
 * On a full disk this takes until there is room, and the server does not vote meanwhile.
 */
export class Leaving implements Role<void> {
  readonly name = 'leaving'
  readonly state = 'looking'
  private readonly parts: RoleParts
  private readonly remains: Remains
  private readonly canWrite: () => boolean

  constructor(parts: RoleParts, remains: Remains, canWrite: () => boolean) {
    this.parts = parts
    this.remains = remains
    this.canWrite = canWrite
  }

  async run(): Promise<void> {
    const { restoring, stopSignal, history, journal, members } = this.parts
    await restoring.roleEnded()
    if (stopSignal.isStopped) return
    await this.flush()
    if (this.remains.memoryDiffersFromDisk) {
      await journal.undisturbed(() => history.reload())
    } else {
      this.applyUncommitted()
    }
    await this.checkTree()
    members.readLogged()
  }

  private async flush(): Promise<void> {
    const { history, service } = this.parts
    if (this.canWrite() || this.remains.memoryDiffersFromDisk) await history.flush()
    else await service.serveReadsWhile(() => history.flush())
  }

  /** This server may lead next, and its tree would be everybody's: it must be the one of its log. */
  private async checkTree(): Promise<void> {
    const { history, journal, standing, zabTrace } = this.parts
    if (history.hasDigestOfLog) return
    zabTrace({ type: 'treeDiffers', from: 'log', remedy: 'reload' })
    await journal.undisturbed(() => history.reload())
    // The log may hold what a leader with a wrong tree predicted, but not if this server led.
    if (!history.hasDigestOfLog && this.remains.refutesTree === true) standing.treeIsWorthless()
  }

  private applyUncommitted(): void {
    const { history, journal } = this.parts
    const { uncommitted } = this.remains
    // A snapshot is named after the last committed transaction: it must not hold one that the next
    // leader may cut off.
    if (uncommitted.length > 0) journal.abandonSnapshot()
    for (const txn of uncommitted) history.apply(txn)
  }
}
