import {
  codes,
  LearnerInfo,
  MalformedError,
  packetOf,
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
import { expectPacket, isPeerFault, ProtocolError } from './packets.ts'
import { changeForLearner, configOf, readConfig } from './role-change.ts'

/** The parts of its server that a learner may read. Only its driver changes them. */
export interface LearnerParts {
  readonly self: ServerId
  /** The server that synchronizes this one: the leader, or a follower that takes observers. */
  readonly leader: ServerId
  /** The leader of the ensemble. */
  readonly elected: ServerId
  readonly isObserver: boolean
  readonly epochs: Pick<Epochs, 'accepted' | 'current'>
  readonly db: { readonly lastZxid: bigint; readonly memory?: CodecMemory }
  /** The only part that a learner changes itself: the proposed and the committed configuration. */
  readonly configs: MembershipState
  /** This server's history is useless: the leader must send its whole database. */
  readonly wantsEverything: boolean
  /** This server's history is lost: it is unknown what it contained. */
  readonly lacksData?: boolean
  readonly trace: ZabTrace
}

/** The inputs of a learner. */
export type LearnerInput =
  /** The connection is established. */
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
      /** When the leader last sent something. */
      readonly lastHeardMs: number
      /** This server waits for the leader, not the leader for this server. */
      readonly isWaiting: boolean
    }
  /** The connection is lost, the disk fails, or this server stops. */
  | { readonly type: 'end'; readonly reason: Error }

/** The storage steps of a learner before it sends anything else, one at a time. */
export type StoreStep =
  /** The promise to take no part in older epochs. */
  | { readonly type: 'acceptEpoch'; readonly epoch: bigint }
  /** The database that follows on the connection replaces this server's, under this zxid. */
  | { readonly type: 'loadSnapshot'; readonly zxid: bigint }
  /** Log and database are cut off after this zxid. */
  | { readonly type: 'truncate'; readonly zxid: bigint }
  /** The database, which is exact now, becomes what a restart reads. */
  | { readonly type: 'takeSnapshot' }
  /** Everything in `Ready.log` so far becomes durable. */
  | { readonly type: 'flush' }
  /** The configuration of the leader is in its file. */
  | { readonly type: 'saveConfig' }
  /** This server's history is that of this epoch. */
  | { readonly type: 'enterEpoch'; readonly epoch: bigint }

/** A committed transaction or an answer, in the leader's order. */
export type Delivery =
  | {
      readonly type: 'commit'
      readonly txn: DecodedTxn
      /** The transaction changes the members, and this server leads them. */
      readonly successor: ServerId | undefined
    }
  /** PING, SYNC or REVALIDATE: for clients of this server and of its observers. */
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
  /** Packets to the leader; they may be sent at once. */
  send: QuorumPacket[] | undefined
  /** This server is up to date in this epoch: clients are served from now on. */
  serving: bigint | undefined
  /**
   * The history that follows may be cut off again, so a snapshot that is being written must not
   * contain it.
   */
  abandonsSnapshot = false
  /** Appended to the next batch of the log, in this order. */
  log: DecodedTxn[] | undefined
  /** Applied or answered in this order. The transactions are logged or being logged. */
  deliver: Delivery[] | undefined
  /**
   * Begins when all of the above is done. Meanwhile no packet is handed in. The input `stored`
   * follows, also when the connection is lost meanwhile: what was begun on disk is completed.
   */
  store: StoreStep | undefined
  /** The role has ended, for this reason. `store` is still carried out. */
  ended: Error | undefined
}

/** The phases of a learner, in order. It stays in `serving` until its role ends. */
type Phase =
  /** Waits for LEADERINFO. */
  | 'greeting'
  /** Waits for DIFF, TRUNC or SNAP. */
  | 'promised'
  /** Receives the history, up to NEWLEADER. */
  | 'takingHistory'
  /** Has acknowledged NEWLEADER, or is about to. Waits for UPTODATE. */
  | 'acknowledging'
  | 'serving'

/** This server has promised a newer epoch than the leader's, which must begin another one. */
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
  /** A restart would read something else: a snapshot is not stored yet, or a log is half cut off. */
  memoryDiffersFromDisk = false
  /** The last transaction that the leader has proposed here. */
  lastProposed = 0n
  private readonly parts: LearnerParts
  private readonly options: ZabOptions
  private ready = new LearnerReady()
  private isReady = false
  private phase: Phase = 'greeting'
  private hasEnded = false
  private storing: StoreStep | undefined
  private epoch = 0n
  /** The last time at which the leader would have waited for this server. */
  private lastBusyMs = 0
  /** The last zxid when the leader began to send its history. */
  private base = 0n
  private isFromSnapshot = false
  /** The zxids of the history that are committed. */
  private readonly committedHistory: bigint[] = []
  /** The configuration in NEWLEADER. */
  private leaderConfig: Membership | undefined
  /** Live packets that came before UPTODATE. */
  private readonly early: QuorumPacket[] = []
  /** Proposed and not committed transactions, oldest first. */
  private readonly pending = new Fifo<DecodedTxn>()
  private lastAppended = 0n
  private lastAcked = 0n

  constructor(parts: LearnerParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
  }

  /** The last transaction that was proposed here and is not committed; undefined for none. */
  get lastPending(): bigint | undefined {
    return this.pending.last?.zxid
  }

  get isServing(): boolean {
    return this.phase === 'serving'
  }

  /** Logged or being logged, and not known to be committed. */
  get uncommitted(): readonly DecodedTxn[] {
    return this.pending.all().filter(({ zxid }) => zxid <= this.lastAppended)
  }

  // --- in and out --------------------------------------------------------------------------------

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

  /** The results of the inputs since the last call; undefined if there are none. */
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

  /** A malformed packet ends the role. */
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
        // Even if this server has seen a newer one: that proposal is not in this history.
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

  /** Ends the role if this server waits for the leader and hears nothing within the limit. */
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

  // --- discovery ---------------------------------------------------------------------------------

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
    // -1 is before every history, so only a snapshot can answer it.
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

  // --- synchronisation ---------------------------------------------------------------------------

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
    this.base = this.lastProposed = this.parts.db.lastZxid
  }

  private takeHistory(packet: QuorumPacket): void {
    const { type, zxid, data } = packet
    if (type === packetTypes.newLeader) {
      this.leaderConfig = readConfig(data ?? new Uint8Array(0))
      this.completeHistory()
    } else if (type === packetTypes.proposal) {
      this.propose(packet)
    } else if (type === packetTypes.commit || type === packetTypes.commitAndActivate) {
      // A configuration among them takes effect with UPTODATE: that of NEWLEADER is not older.
      this.committedHistory.push(zxid)
    } else if (type === packetTypes.inform || type === packetTypes.informAndActivate) {
      this.propose(type === packetTypes.inform ? packet : withoutLeader(packet))
      this.committedHistory.push(zxid)
    }
  }

  /** NEWLEADER came: it is acknowledged once the committed part of the history is durable. */
  private completeHistory(): void {
    const { isFromSnapshot } = this
    const history = this.committedHistory.filter((zxid) => zxid > this.base)
    // Without a quorum, this history may be cut off again.
    if (!isFromSnapshot && history.length > 0) this.ready.abandonsSnapshot = true
    for (const zxid of history) {
      const txn = this.nextPending(zxid)
      // Transactions after a snapshot may be in it, in parts. With all of them applied it is exact: only
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

  /** Live packets may come before UPTODATE; they take effect after it. */
  private awaitUpToDate(packet: QuorumPacket): void {
    if (packet.type === packetTypes.upToDate) this.serve()
    // Pings are answered only once this server serves: until then the leader waits for an ACK.
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

  /** Why the role must end under the committed configuration, if it must. */
  private activate(
    config: Membership | undefined,
    successor: ServerId | undefined,
  ): Error | undefined {
    const { configs, self, elected: leader, isObserver } = this.parts
    const before = configs.committed
    if (config === undefined || !configs.commit(config)) return undefined
    return changeForLearner(before, config, { self, leader, isObserver, successor })
  }

  // --- broadcast ---------------------------------------------------------------------------------

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
    // Apache repeats transactions that the snapshot contains.
    if (zxid <= this.base && !this.isServing) return
    if (!follows(this.lastProposed, zxid)) {
      const [before, after] = [this.lastProposed.toString(16), zxid.toString(16)]
      throw new ProtocolError(`after ${before} comes ${after}: something is missing`)
    }
    this.pending.push(decodeTxn(zxid, data, this.parts.db.memory))
    this.lastProposed = zxid
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

  /** One ACK for each proposal, even if it was committed before this server's log had it. */
  private nextToAck(): bigint | undefined {
    if (this.lastAcked >= this.lastProposed) return undefined
    return epochOf(this.lastAcked) < this.epoch ? epochStart(this.epoch) + 1n : this.lastAcked + 1n
  }
}

/** The leader named by a change of configuration. */
function leaderNamedBy({ data }: QuorumPacket): ServerId {
  return new Reader(data ?? new Uint8Array(0)).long()
}

/** The transaction of INFORMANDACTIVATE, without the leader before it. */
function withoutLeader(packet: QuorumPacket): QuorumPacket {
  return { ...packet, data: packet.data?.subarray(8) ?? null }
}
