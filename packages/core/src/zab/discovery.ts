import { MalformedError } from '@zabra/protocol'
import type { ConfigBook } from './config-book.ts'
import { Deferred } from './deferred.ts'
import type { Epochs } from './epochs.ts'
import type { ServerId } from './quorum.ts'
import type { LeaderStart } from './synchronisation.ts'

export interface DiscoveryParts {
  readonly self: ServerId
  readonly configs: ConfigBook
  readonly epochs: Epochs
}

/**
 * How a leader agrees with a quorum on an epoch: the first that none of them has promised before.
 * None of those who promise it may have a longer history than the leader.
 */
export class Discovery {
  /** Resolves when the epoch is certain, and promised by ourselves on disk. */
  readonly chosen = new Deferred<bigint>()
  /** Resolves when a quorum has promised it. */
  readonly acknowledged = new Deferred<void>()
  private readonly parts: DiscoveryParts
  private readonly start: LeaderStart
  private readonly onFailure: (error: Error) => void
  private readonly joined = new Set<ServerId>()
  private readonly acks = new Set<ServerId>()
  private isFrozen = false
  private newEpoch = 0n
  private promising: Promise<void> = Promise.resolve()

  constructor(parts: DiscoveryParts, start: LeaderStart, onFailure: (error: Error) => void) {
    this.parts = parts
    this.start = start
    this.onFailure = onFailure
  }

  /** As it would be with those who have joined so far, until it is chosen. */
  get epoch(): bigint {
    return this.newEpoch
  }

  /** Resolves when nothing is on its way to the disk. */
  get settled(): Promise<void> {
    return this.promising
  }

  /** Counts who would join; with a quorum the epoch is the first that none of them has accepted. */
  join(sid: ServerId, acceptedEpoch: bigint): void {
    if (this.isFrozen) return
    if (acceptedEpoch >= this.newEpoch) this.newEpoch = acceptedEpoch + 1n
    if (this.parts.configs.verifier.voters.has(sid)) this.joined.add(sid)
    if (!this.isAgreed(this.joined)) return
    this.isFrozen = true
    void this.promise(this.newEpoch, () => this.chosen.resolve(this.newEpoch))
  }

  /** A server has promised the epoch, and says how far its history goes. */
  acknowledge(sid: ServerId, currentEpoch: bigint, lastZxid: bigint): void {
    if (this.isAgreed(this.acks)) return
    const isAhead =
      currentEpoch > this.start.epoch ||
      (currentEpoch === this.start.epoch && lastZxid > this.start.zxid)
    if (isAhead) throw new MalformedError(`server ${sid} has a longer history than its leader`)
    if (this.parts.configs.verifier.voters.has(sid)) this.acks.add(sid)
    if (this.isAgreed(this.acks)) this.acknowledged.resolve()
  }

  /** Promises, on disk, to take part in no epoch before this one. */
  promise(epoch: bigint, done: () => void = () => {}): Promise<void> {
    this.promising = this.parts.epochs.setAccepted(epoch).then(done, this.onFailure)
    return this.promising
  }

  private isAgreed(servers: ReadonlySet<ServerId>): boolean {
    return servers.has(this.parts.self) && this.parts.configs.verifier.isQuorum(servers)
  }
}
