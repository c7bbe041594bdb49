import { encodeText } from '@zabra/protocol'
import { formatMembership, verifierOf, type Membership } from './membership.ts'
import { combine, type QuorumVerifier, type ServerId } from './quorum.ts'

/** Where a server keeps who the members are, for its next start. */
export interface ConfigStore {
  /** Proposed, and perhaps never to be committed; undefined when there is no such one any more. */
  saveSeen(config: Membership | undefined): Promise<void>
  /** Takes the place of what was committed before. */
  saveCommitted(config: Membership): Promise<void>
}

export interface MembershipStateOptions {
  /** Whether members can be changed at all. */
  readonly isEnabled: boolean
  readonly store?: ConfigStore | undefined
  /** Told of each change, when it is made. */
  readonly onChange?: (before: Pick<MembershipState, 'committed' | 'seen'>) => void
  readonly onSaveFailed?: (error: Error) => void
}

/**
 * Who the members are, as one server knows it: the configuration that is committed, and a newer one
 * that it has seen proposed. As long as there is such a one, both must agree to everything.
 *
 * What was seen survives a crash without a file: it is in the log, and so in the tree that recovery
 * makes of it. The files are for the operator, for Apache on the same disk, and for what is
 * committed; a directory that cannot be written costs no promise.
 */
export class MembershipState {
  committed: Membership
  /** Undefined unless it is newer than what is committed. */
  seen: Membership | undefined
  verifier: QuorumVerifier
  /** The newest that our history holds, as far as we know it. */
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

  /** Whether a server is one of those that are committed, or of those that are proposed. */
  isMember(server: ServerId): boolean {
    return this.committed.servers.has(server) || this.seen?.servers.has(server) === true
  }

  get committedText(): Uint8Array {
    return encodeText(formatMembership(this.committed))
  }

  get newestText(): Uint8Array {
    return encodeText(formatMembership(this.newest))
  }

  /** A configuration is proposed: it has a say from now on. */
  see(config: Membership): void {
    if (config.version > this.newest.version) this.setSeen(config)
  }

  /**
   * A configuration is in our history now. So the one that was there before is committed: no leader
   * proposes another before that.
   */
  seeLogged(config: Membership): void {
    const { logged } = this
    this.logged = config
    if (logged !== undefined && logged.version < config.version) this.commit(logged)
    this.see(config)
  }

  /**
   * The newest configuration that our history holds is this, and `before` is a committed one. What
   * was seen is no other.
   */
  setLogged(newest: Membership | undefined, before?: Membership): void {
    if (before !== undefined) this.commit(before)
    this.logged = newest
    this.setSeen(newest)
  }

  /** What was seen is this, and nothing if that is not newer than what is committed. */
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

  /** A configuration is known to be committed; false where that changes nothing. */
  commit(config: Membership): boolean {
    const before = { committed: this.committed, seen: this.seen }
    if (!this.isEnabled || config.version <= before.committed.version) return false
    this.committed = config
    if (this.seen !== undefined && this.seen.version <= config.version) this.seen = undefined
    const { seen } = this
    this.changed(before)
    // What was seen goes last: until then it is one of the two.
    this.save((store) => store.saveCommitted(config))
    if (seen === undefined) this.save((store) => store.saveSeen(undefined))
    return true
  }

  /** Resolves when everything so far is in its file, or could not be put there. */
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
