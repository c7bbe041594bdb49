import { readConfig } from '../consensus/zab/role-change.ts'
import type { ZabTrace } from '../consensus/zab/options.ts'
import { changeBetween, sameMembership, type Membership } from '../membership/membership.ts'
import { MembershipState, type ConfigStore } from '../membership/membership-state.ts'
import type { Database } from '../state/database.ts'
import { epochOf } from '../storage/zxid.ts'

export interface MembersParts {
  readonly db: Database
  readonly wallMs: () => number
  readonly zabTrace: ZabTrace
  /** Where the members are kept; without one, only in memory. */
  readonly configStore?: ConfigStore | undefined
  /** Told of each change, when it is made. */
  readonly onChange: (now: Pick<MembershipState, 'committed' | 'seen'>) => void
}

/** The members of the ensemble, as this server's files, its log and other servers tell. */
export class Members {
  readonly configs: MembershipState
  private readonly parts: MembersParts

  constructor(
    parts: MembersParts,
    options: { readonly membership: Membership; readonly reconfigEnabled: boolean },
  ) {
    this.parts = parts
    this.configs = new MembershipState(options.membership, {
      isEnabled: options.reconfigEnabled,
      store: parts.configStore,
      onChange: (before) => {
        parts.onChange(this.configs)
        this.traceChange(before)
      },
      onSaveFailed: ({ message }) => parts.zabTrace({ type: 'configNotSaved', reason: message }),
    })
  }

  /**
   * Any change of configuration in this server's log may have been committed with its help, so it
   * counts as proposed. One that was cut off from the log was never committed.
   */
  readLogged(): void {
    const { configText } = this.parts.db
    if (!this.configs.isEnabled) return
    const newest = configText == null ? undefined : readConfig(configText)
    this.configs.setLogged(newest, newest && this.committedByHistory(newest))
  }

  /**
   * The newest configuration that this server's history proves to be committed, even if its file
   * does not say so. A leader proposes another configuration only after the one before is committed,
   * and completes what came before its epoch before it proposes anything. If the newest was applied
   * on top of itself, a finished snapshot held it beyond its name, and snapshots hold nothing that
   * is not committed.
   */
  private committedByHistory(newest: Membership): Membership | undefined {
    const { configBefore, lastTxnZxid } = this.parts.db
    if (epochOf(lastTxnZxid) > epochOf(newest.version)) return newest
    const before = configBefore && readConfig(configBefore)
    return before !== undefined && before.version <= newest.version ? before : undefined
  }

  /** Shows clients the committed configuration, unless the log holds a newer one already. */
  show(): void {
    const { committed, committedText, seen } = this.configs
    const { db, wallMs } = this.parts
    if (seen === undefined || seen.version > db.lastZxid) {
      db.setConfig(committedText, committed.version, wallMs())
    }
  }

  /** Another server knows that this was committed. True if the members are others now. */
  adopt(config: Membership): boolean {
    const isOther = !sameMembership(config, this.configs.committed)
    return this.configs.commit(config) && isOther
  }

  /** Others have logged a change that gives this server a vote. True if it was news. */
  adoptProposed(config: Membership): boolean {
    this.configs.see(config)
    return this.configs.seen?.version === config.version
  }

  private traceChange(before: Pick<MembershipState, 'committed' | 'seen'>): void {
    const { committed, seen } = this.configs
    const { zabTrace } = this.parts
    if (committed.version !== before.committed.version) {
      const change = changeBetween(before.committed, committed)
      zabTrace({ type: 'reconfigured', version: committed.version, ...change })
    } else if (seen !== undefined && !sameMembership(seen, committed)) {
      const change = changeBetween(committed, seen)
      zabTrace({ type: 'changeProposed', version: seen.version, ...change })
    }
  }
}
