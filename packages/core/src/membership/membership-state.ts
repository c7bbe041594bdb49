import { encodeText } from '@zabra/protocol'
import { formatMembership, verifierOf, type Membership } from './membership.ts'
import { combine, type QuorumVerifier, type ServerId } from './quorum.ts'

/** Stores the configuration of the ensemble for the next start of the server. */
export interface ConfigStore {
  /** A proposed configuration, which may never be committed; undefined removes it. */
  saveSeen(config: Membership | undefined): Promise<void>
  /** Replaces the configuration that was committed before. */
  saveCommitted(config: Membership): Promise<void>
}

export interface MembershipStateOptions {
  /** Whether the members can be changed at all. */
  readonly isEnabled: boolean
  readonly store?: ConfigStore | undefined
  /** Called after each change. */
  readonly onChange?: (before: Pick<MembershipState, 'committed' | 'seen'>) => void
  readonly onSaveFailed?: (error: Error) => void
}

/**
 * The members of the ensemble as one server knows them: the committed configuration, and a newer
 * one that this server has seen proposed. While there is a proposed one, every decision needs a
 * quorum of both.
 *
 * A proposed configuration survives a crash without a file: it is in the log, so recovery finds it
 * in the tree. The files serve the operator, an Apache server on the same disk, and the committed
 * configuration. A directory that cannot be written to breaks no promise.
 */
export class MembershipState {
  committed: Membership
  /** Undefined, or newer than the committed configuration. */
  seen: Membership | undefined
  verifier: QuorumVerifier
  /** The newest configuration that this server knows to be in its own history. */
  private logged: Membership | undefined
  private readonly options: MembershipStateOptions
  private saving: Promise<void> = Promise.resolve()

  constructor(committed: Membership, options: MembershipStateOptions) {
    this.committed = committed
    this.options = options
    this.verifier = this.combined()
  }

  get isEnabled(): boolean {
    return this.options.isEnabled
  }

  get newest(): Membership {
    return this.seen ?? this.committed
  }

  /** Whether a server belongs to the committed or to the proposed configuration. */
  isMember(server: ServerId): boolean {
    return this.committed.servers.has(server) || this.seen?.servers.has(server) === true
  }

  get committedText(): Uint8Array {
    return encodeText(formatMembership(this.committed))
  }

  get newestText(): Uint8Array {
    return encodeText(formatMembership(this.newest))
  }

  /** Records a proposed configuration. From now on decisions need its quorum too. */
  see(config: Membership): void {
    if (config.version > this.newest.version) this.setSeen(config)
  }

  /**
   * Records a configuration that is now in the history of this server. The previous one is then
   * committed, because a leader proposes the next one only after that.
   */
  seeLogged(config: Membership): void {
    const { logged } = this
    this.logged = config
    if (logged !== undefined && logged.version < config.version) this.commit(logged)
    this.see(config)
  }

  /**
   * Sets the newest configuration in the history of this server; `before` is a committed one. No
   * other configuration is proposed.
   */
  setLogged(newest: Membership | undefined, before?: Membership): void {
    if (before !== undefined) this.commit(before)
    this.logged = newest
    this.setSeen(newest)
  }

  /** Sets the proposed configuration; none if this one is not newer than the committed one. */
  setSeen(config: Membership | undefined): void {
    if (!this.isEnabled) return
    const isNewer = config !== undefined && config.version > this.committed.version
    const seen = isNewer ? config : undefined
    const before = { committed: this.committed, seen: this.seen }
    if (before.seen?.version === seen?.version) return
    this.seen = seen
    this.changed(before)
    this.save((store) => store.saveSeen(seen))
  }

  /** Records that a configuration is committed; false if that changes nothing. */
  commit(config: Membership): boolean {
    const before = { committed: this.committed, seen: this.seen }
    if (!this.isEnabled || config.version <= before.committed.version) return false
    this.committed = config
    if (this.seen !== undefined && this.seen.version <= config.version) this.seen = undefined
    const { seen } = this
    this.changed(before)
    // The proposed one is removed last: until then it is one of the two.
    this.save((store) => store.saveCommitted(config))
    if (seen === undefined) this.save((store) => store.saveSeen(undefined))
    return true
  }

  /** Resolves when every change so far is in its file, or could not be written. */
  get saved(): Promise<void> {
    return this.saving
  }

  private changed(before: Pick<MembershipState, 'committed' | 'seen'>): void {
    this.verifier = this.combined()
    this.options.onChange?.(before)
  }

  private combined(): QuorumVerifier {
    return combine(verifierOf(this.committed), this.seen && verifierOf(this.seen))
  }

  private save(work: (store: ConfigStore) => Promise<void>): void {
    const { store, onSaveFailed } = this.options
    if (store === undefined) return
    this.saving = this.saving
      .then(() => work(store))
      .catch((error: unknown) => onSaveFailed?.(error as Error))
  }
}
