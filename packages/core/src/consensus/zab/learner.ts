import {
  codes,
  LearnerInfo,
  MalformedError,
  packetTypes,
  quorumProtocolVersion,
  Reader,
  Writer,
  type PacketName,
  type QuorumPacket,
  type CodecMemory,
} from '@zabra/protocol'
import { TimeoutError } from '../../base/timeout-error.ts'
import { Fifo } from '../../base/fifo.ts'
import type { Membership } from '../../membership/membership.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { decodeTxn, type DecodedTxn } from './decoded-txn.ts'
import { type Epochs } from '../../storage/epochs.ts'
import { counterOf, epochOf, epochStart, follows } from '../../storage/zxid.ts'
import type { ZabOptions, ZabTrace } from './options.ts'
import { expectPacket, isPeerFault, packetOf, ProtocolError } from './packets.ts'
import { changeForLearner, configOf, readConfig } from './role-change.ts'

/** What a learner may read of the server it is part of. Only its driver changes any of it. */
export interface LearnerParts {
  readonly self: ServerId
  /** The server that brings us up: the leader, or a follower that takes observers. */
  readonly leader: ServerId
  /** The leader of the ensemble. */
  readonly elected: ServerId
  readonly isObserver: boolean
  readonly epochs: Pick<Epochs, 'accepted' | 'current'>
  readonly db: { readonly lastZxid: bigint; readonly memory?: CodecMemory }
  /** The one thing that a learner changes by itself: what is proposed and what is committed of it. */
  readonly configs: MembershipState
  /** Our own history is of no use: the leader sends all of its own. */
  readonly wantsEverything: boolean
  /** There is none, where there should be one: nobody can tell what it was. */
  readonly lacksData?: boolean
  readonly trace: ZabTrace
}

/** All that can happen to a learner. */
export type LearnerInput =
  /** The connection is there. */
  | { readonly type: 'begin'; readonly nowMs: number }
  /** A packet from the leader. None comes while something is being stored. */
  | { readonly type: 'packet'; readonly packet: QuorumPacket }
  /** `Ready.store` is done. */
  | { readonly type: 'stored' }
  /** The log holds everything up to here. */
  | { readonly type: 'logged'; readonly zxid: bigint }
  | {
      readonly type: 'tick'
      readonly nowMs: number
      /** When the leader was last heard of. */
      readonly lastHeardMs: number
      /** We wait for the leader, not the leader for us. */
      readonly isWaiting: boolean
    }
  /** The connection is lost, the disk fails, or this server stops. */
  | { readonly type: 'end'; readonly reason: Error }

/** What a learner stores before it says another word. One step at a time. */
export type StoreStep =
  /** The promise to take part in no older epoch. */
  | { readonly type: 'acceptEpoch'; readonly epoch: bigint }
  /** The database that follows on the connection replaces ours, under this zxid. */
  | { readonly type: 'loadSnapshot'; readonly zxid: bigint }
  /** The log ends here from now on, and so does the database. */
  | { readonly type: 'truncate'; readonly zxid: bigint }
  /** The database, which is exact by now, becomes what a restart reads. */
  | { readonly type: 'takeSnapshot' }
  /** Everything in `Ready.log` so far becomes durable. */
  | { readonly type: 'flush' }
  /** The configuration of the leader is in its file. */
  | { readonly type: 'saveConfig' }
  /** Our history is that of this epoch. */
  | { readonly type: 'enterEpoch'; readonly epoch: bigint }

/** What is applied or answered here, in the order of the leader. */
export type Delivery =
  | {
      readonly type: 'commit'
      readonly txn: DecodedTxn
      /** It changes the members, and this one leads them. */
      readonly successor: ServerId | undefined
    }
  /** PING, SYNC or REVALIDATE: it concerns our clients, and those of our observers. */
  | { readonly type: 'answer'; readonly packet: QuorumPacket }

/**
 * All that a learner asks of its driver after an input. The driver carries out the fields in the
 * order in which they are declared here.
 *
 * Two promises rest on this order. An ACK of a proposal is in `send` only after the input `logged`
 * has named its zxid. The ACK of NEWLEADER is in `send` only after every step of `store` before it
 * is done: history first, then its configuration, then its epoch.
 */
export class LearnerReady {
  /** For the leader. May leave at once. */
  send: QuorumPacket[] | undefined
  /** We are up to date in this epoch: clients are served from now on. */
  serving: bigint | undefined
  /**
   * The history that follows may be cut off again, so a snapshot that is being written must not
   * contain it.
   */
  abandonsSnapshot = false
  /** Goes into the next batch of the log, in this order. */
  log: DecodedTxn[] | undefined
  /** Is applied or answered in this order. Its transactions are in the log, or on their way there. */
  deliver: Delivery[] | undefined
  /**
   * Begins when all of the above is done. Meanwhile no packet is handed in. The input `stored`
   * follows, also when the connection is lost meanwhile: what was begun on disk is completed.
   */
  store: StoreStep | undefined
  /** The role has ended, for this reason. `store` is still carried out. */
  ended: Error | undefined
}

/** A learner on its way. It stays in `serving` until its role ends. */
type Phase =
  /** LEADERINFO is to come. */
  | 'greeting'
  /** DIFF, TRUNC or SNAP is to come. */
  | 'promised'
  /** The history is coming, up to NEWLEADER. */
  | 'takingHistory'
  /** NEWLEADER is acknowledged, or about to be. UPTODATE is to come. */
  | 'acknowledging'
  | 'serving'

/** We have promised a newer epoch than the leader's: it begins another one when it hears of that. */
export class OlderEpochError extends ProtocolError {
  override readonly name: string = 'OlderEpochError'
}

/**
 * Follows a leader, or observes it: takes over its history, then logs and acknowledges what it
 * proposes and applies what it commits.
 *
 * A machine: `step` takes an input, `takeReady` says what follows from it (see LearnerReady).
 */
export class Learner {
  /** A restart would not read what is in memory: a snapshot is not stored, or a log half cut. */
  memoryDiffersFromDisk = false
  private readonly parts: LearnerParts
  private readonly options: ZabOptions
  private ready = new LearnerReady()
  private isReady = false
  private phase: Phase = 'greeting'
  private hasEnded = false
  private storing: StoreStep | undefined
  private epoch = 0n
  /** The last time at which the leader would have waited for us. */
  private lastBusyMs = 0
  /** What we had when the leader began to send its history. */
  private base = 0n
  private isFromSnapshot = false
  /** Of the history: the zxids that are committed. */
  private readonly committedHistory: bigint[] = []
  /** The configuration of NEWLEADER. */
  private leaderConfig: Membership | undefined
  /** Live packets that came before UPTODATE. */
  private readonly early: QuorumPacket[] = []
  /** Proposed and not committed, oldest first. */
  private readonly pending = new Fifo<DecodedTxn>()
  private lastProposedZxid = 0n
  private lastAppended = 0n
  private lastAcked = 0n

  constructor(parts: LearnerParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
  }

  /** The last transaction that the leader has proposed here. */
  get lastProposed(): bigint {
    return this.lastProposedZxid
  }

  /** The last transaction that was proposed here and is not committed; undefined for none. */
  get lastPending(): bigint | undefined {
    return this.pending.last?.zxid
  }

  get isServing(): boolean {
    return this.phase === 'serving'
  }

  /** In the log, or on the way there, but not known to be committed. */
  get uncommitted(): readonly DecodedTxn[] {
    return this.pending.all().filter(({ zxid }) => zxid <= this.lastAppended)
  }

  // --- in and out ------------------------------------------------------------------------------

  step(input: LearnerInput): void {
    switch (input.type) {
      case 'packet':
        if (!this.hasEnded) this.takePacket(input.packet)
        return
      case 'logged':
        this.logged(input.zxid)
        return
      case 'begin':
        this.lastBusyMs = input.nowMs
        this.greet()
        return
      case 'stored':
        this.stored()
        return
      case 'tick':
        this.tick(input)
        return
      case 'end':
        this.end(input.reason)
    }
  }

  /** What follows from the inputs since the last call; undefined for nothing. */
  takeReady(): LearnerReady | undefined {
    if (!this.isReady) return undefined
    const { ready } = this
    this.ready = new LearnerReady()
    this.isReady = false
    return ready
  }

  private send(name: PacketName, zxid: bigint, data: Uint8Array | null = null): void {
    this.isReady = true
    ;(this.ready.send ??= []).push(packetOf(name, zxid, data))
  }

  private deliver(delivery: Delivery): void {
    this.isReady = true
    ;(this.ready.deliver ??= []).push(delivery)
  }

  private store(step: StoreStep): void {
    this.isReady = true
    this.storing = this.ready.store = step
  }

  private end(reason: Error): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.isReady = true
    this.ready.ended = reason
  }

  /** What makes no sense ends the role. */
  private takePacket(packet: QuorumPacket): void {
    try {
      if (this.phase === 'serving') this.receive(packet)
      else this.takeJoiningPacket(packet)
    } catch (error) {
      if (!isPeerFault(error)) throw error
      this.end(error)
    }
  }

  private takeJoiningPacket(packet: QuorumPacket): void {
    if (this.phase === 'greeting') this.takeEpoch(packet)
    else if (this.phase === 'promised') this.beginHistory(packet)
    else if (this.phase === 'takingHistory') this.takeHistory(packet)
    else this.awaitUpToDate(packet)
  }

  private stored(): void {
    const step = this.storing
    this.storing = undefined
    switch (step?.type) {
      case 'acceptEpoch':
        this.promise(true)
        return
      case 'loadSnapshot':
        this.memoryDiffersFromDisk = true
        this.awaitHistory()
        return
      case 'truncate':
        this.memoryDiffersFromDisk = false
        this.awaitHistory()
        return
      case 'takeSnapshot':
        this.memoryDiffersFromDisk = false
        this.store({ type: 'flush' })
        return
      case 'flush':
        // Also where we have seen a newer one: what we were proposed with it is not in this history.
        this.parts.configs.setLogged(this.leaderConfig)
        this.store({ type: 'saveConfig' })
        return
      case 'saveConfig':
        this.store({ type: 'enterEpoch', epoch: this.epoch })
        return
      case 'enterEpoch':
        this.lastAcked = this.parts.db.lastZxid
        this.send('ack', epochStart(this.epoch))
        return
      default:
    }
  }

  /** The leader must be heard of within the limit, as long as we wait for it. */
  private tick({ nowMs, lastHeardMs, isWaiting }: LearnerInput & { type: 'tick' }): void {
    const { tickMs, initLimit, syncLimit } = this.options
    if (!this.isServing && !isWaiting) {
      this.lastBusyMs = nowMs
      return
    }
    const sinceMs = Math.max(lastHeardMs, this.lastBusyMs)
    if (nowMs - sinceMs > tickMs * (this.isServing ? syncLimit : initLimit)) {
      this.end(new TimeoutError('the leader has not been heard of in time'))
    }
  }

  // --- discovery -------------------------------------------------------------------------------

  private greet(): void {
    const { epochs, self, isObserver, configs } = this.parts
    const info = new Writer(20)
    LearnerInfo.write(info, {
      serverId: self,
      protocolVersion: quorumProtocolVersion,
      configVersion: configs.committed.version,
    })
    const hello = isObserver ? 'observerInfo' : 'followerInfo'
    this.send(hello, epochStart(epochs.accepted), info.written())
  }

  private takeEpoch(packet: QuorumPacket): void {
    const { accepted } = this.parts.epochs
    expectPacket(packet, 'leaderInfo')
    this.epoch = epochOf(packet.zxid)
    if (this.epoch < accepted) {
      throw new OlderEpochError(`epoch ${this.epoch} is older than ${accepted}, promised before`)
    }
    if (this.epoch > accepted) this.store({ type: 'acceptEpoch', epoch: this.epoch })
    else this.promise(false)
  }

  private promise(isNew: boolean): void {
    const { db, wantsEverything } = this.parts
    this.phase = 'promised'
    // -1 lies before every history, so that nothing but a snapshot can answer it.
    this.send('ackEpoch', wantsEverything ? -1n : db.lastZxid, this.promiseOf(isNew))
  }

  /**
   * The epoch of our history. With -1 we are brought up and count for nothing: if we have promised
   * the epoch before, or ask for everything, since then the zxid does not say what we have. What we
   * have follows in that case, behind all that Apache reads: a leader may need us for its quorum.
   */
  private promiseOf(isNew: boolean): Uint8Array {
    const { epochs, db, wantsEverything, lacksData } = this.parts
    const counts = isNew && !lacksData
    const data = new Writer(16)
    data.int(counts && !wantsEverything ? Number(epochs.current) : -1)
    if (counts && wantsEverything) {
      data.int(Number(epochs.current))
      data.long(db.lastZxid)
    }
    return data.written()
  }

  // --- synchronisation -------------------------------------------------------------------------

  private beginHistory(operation: QuorumPacket): void {
    const kind = expectPacket(operation, 'diff', 'trunc', 'snap')
    this.parts.trace({ type: 'takingOver', leader: this.parts.leader, plan: kind })
    if (kind === 'snap') {
      this.isFromSnapshot = true
      this.store({ type: 'loadSnapshot', zxid: this.nameOfSnapshot(operation.zxid) })
    } else if (kind === 'trunc') {
      this.memoryDiffersFromDisk = true
      this.store({ type: 'truncate', zxid: operation.zxid })
    } else {
      this.awaitHistory()
    }
  }

  /**
   * A snapshot that ends before our own history does is stored under the start of the new epoch:
   * there it lies beyond everything we have, none of which may be replayed on top of it.
   */
  private nameOfSnapshot(zxid: bigint): bigint {
    const { lastZxid } = this.parts.db
    const start = epochStart(this.epoch)
    return zxid < lastZxid && start > lastZxid ? start : zxid
  }

  private awaitHistory(): void {
    this.phase = 'takingHistory'
    this.base = this.lastProposedZxid = this.parts.db.lastZxid
  }

  private takeHistory(packet: QuorumPacket): void {
    const { type, zxid, data } = packet
    if (type === packetTypes.newLeader) {
      this.leaderConfig = readConfig(data ?? new Uint8Array(0))
      this.completeHistory()
    } else if (type === packetTypes.proposal) {
      this.propose(packet)
    } else if (type === packetTypes.commit || type === packetTypes.commitAndActivate) {
      // A configuration among them counts from UPTODATE on: that of NEWLEADER is no older.
      this.committedHistory.push(zxid)
    } else if (type === packetTypes.inform || type === packetTypes.informAndActivate) {
      this.propose(type === packetTypes.inform ? packet : withoutLeader(packet))
      this.committedHistory.push(zxid)
    }
  }

  /** NEWLEADER came: what is committed of the history is durable before we say so. */
  private completeHistory(): void {
    const { isFromSnapshot } = this
    const history = this.committedHistory.filter((zxid) => zxid > this.base)
    // Without a quorum for it, this history may be cut off again.
    if (!isFromSnapshot && history.length > 0) this.ready.abandonsSnapshot = true
    for (const zxid of history) {
      const txn = this.nextPending(zxid)
      // What followed a snapshot may be in it, in parts. With all of that applied it is exact: only
      // that is stored, and needs no log.
      if (!isFromSnapshot) this.append(txn)
      this.commit(txn)
    }
    if (this.parts.isObserver && this.pending.length > 0) {
      throw new ProtocolError('an observer learns only of what is committed')
    }
    this.phase = 'acknowledging'
    this.store({ type: isFromSnapshot ? 'takeSnapshot' : 'flush' })
  }

  /** Live packets may come before UPTODATE; they count from then on. */
  private awaitUpToDate(packet: QuorumPacket): void {
    if (packet.type === packetTypes.upToDate) this.serve()
    // A sign of life is answered only once we serve: the leader waits for our acknowledgement.
    else if (packet.type !== packetTypes.ping) this.early.push(packet)
  }

  private serve(): void {
    const change = this.enterConfig()
    if (change !== undefined) {
      this.end(change)
      return
    }
    this.send('ack', epochStart(this.epoch))
    this.phase = 'serving'
    this.ready.serving = this.epoch
    for (const txn of this.pending.all()) this.append(txn)
    for (const packet of this.early.splice(0)) if (!this.hasEnded) this.takePacket(packet)
  }

  /**
   * The configuration of NEWLEADER is committed, unless it is one that its leader has proposed to
   * others and not yet to us: an Apache leader sends such a one, too.
   */
  private enterConfig(): Error | undefined {
    const { configs, db } = this.parts
    const { newest } = configs
    const isProposed = counterOf(newest.version) !== 0n && newest.version > db.lastZxid
    return isProposed ? undefined : this.activate(newest, undefined)
  }

  /** Why we cannot go on like this under a configuration that is committed, if so. */
  private activate(
    config: Membership | undefined,
    successor: ServerId | undefined,
  ): Error | undefined {
    const { configs, self, elected: leader, isObserver } = this.parts
    const before = configs.committed
    if (config === undefined || !configs.commit(config)) return undefined
    return changeForLearner(before, config, { self, leader, isObserver, successor })
  }

  // --- broadcast -------------------------------------------------------------------------------

  private receive(packet: QuorumPacket): void {
    switch (packet.type) {
      case packetTypes.proposal:
        this.propose(packet)
        this.append(this.pending.last!)
        return
      case packetTypes.commit:
        this.commit(this.nextPending(packet.zxid))
        return
      case packetTypes.inform:
        this.propose(packet)
        this.append(this.pending.last!)
        this.commit(this.nextPending(packet.zxid))
        return
      case packetTypes.commitAndActivate:
        this.commitAndActivate(packet.zxid, leaderNamedBy(packet))
        return
      case packetTypes.informAndActivate:
        this.propose(withoutLeader(packet))
        this.append(this.pending.last!)
        this.commitAndActivate(packet.zxid, leaderNamedBy(packet))
        return
      case packetTypes.ping:
      case packetTypes.sync:
      case packetTypes.revalidate:
        this.deliver({ type: 'answer', packet })
        return
      default:
    }
  }

  private propose({ zxid, data }: QuorumPacket): void {
    if (data === null) throw new MalformedError('a proposal without a transaction')
    // Apache repeats behind a snapshot what the snapshot contains.
    if (zxid <= this.base && !this.isServing) return
    if (!follows(this.lastProposedZxid, zxid)) {
      const [before, after] = [this.lastProposedZxid.toString(16), zxid.toString(16)]
      throw new ProtocolError(`after ${before} comes ${after}: something is missing`)
    }
    this.pending.push(decodeTxn(zxid, data, this.parts.db.memory))
    this.lastProposedZxid = zxid
  }

  private append(txn: DecodedTxn): void {
    this.lastAppended = txn.zxid
    if (txn.txn.type === codes.reconfig) this.see(txn)
    this.isReady = true
    ;(this.ready.log ??= []).push(txn)
  }

  private see(txn: DecodedTxn): void {
    const config = configOf(txn)
    if (config !== undefined) this.parts.configs.seeLogged(config)
  }

  private nextPending(zxid: bigint): DecodedTxn {
    const txn = this.pending.first
    if (txn?.zxid !== zxid) {
      throw new ProtocolError(`a commit of ${zxid.toString(16)}, which is not the next proposal`)
    }
    return txn
  }

  /** The oldest pending transaction is committed. */
  private commit(txn: DecodedTxn, successor?: ServerId): void {
    this.pending.shift()
    this.deliver({ type: 'commit', txn, successor })
  }

  private commitAndActivate(zxid: bigint, successor: ServerId): void {
    const txn = this.nextPending(zxid)
    const change = this.activate(configOf(txn), successor)
    this.commit(txn, successor)
    if (change !== undefined) this.end(change)
  }

  private logged(zxid: bigint): void {
    if (this.parts.isObserver) return
    while (this.isServing && this.lastAcked < zxid) {
      const next = this.nextToAck()
      if (next === undefined || next > zxid) return
      this.send('ack', next)
      this.lastAcked = next
    }
  }

  /** One acknowledgement for each, also for what was committed before our own log had it. */
  private nextToAck(): bigint | undefined {
    if (this.lastAcked >= this.lastProposedZxid) return undefined
    return epochOf(this.lastAcked) < this.epoch ? epochStart(this.epoch) + 1n : this.lastAcked + 1n
  }
}

/** The leader that a change of configuration names. */
function leaderNamedBy({ data }: QuorumPacket): ServerId {
  return new Reader(data ?? new Uint8Array(0)).long()
}

/** A change as an observer learns of it, without the leader that it names. */
function withoutLeader(packet: QuorumPacket): QuorumPacket {
  return { ...packet, data: packet.data?.subarray(8) ?? null }
}
