import {
  codes,
  MalformedError,
  packetTypes,
  quorumProtocolVersion,
  Reader,
  readLearnerInfo,
  Writer,
  type Id,
  type QuorumPacket,
} from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import { ByteKeeper } from '../../base/byte-keeper.ts'
import type { Database } from '../../state/database.ts'
import type { Proposer } from '../../service/proposer.ts'
import type { Host } from '../../ports.ts'
import { Fifo } from '../../base/fifo.ts'
import type { LogBatch } from '../../storage/log/log-batch.ts'
import type { Reconfiguring } from '../../operations/reconfig.ts'
import type { CommittedLog, LoggedTxn } from '../../storage/log/committed-log.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import { Deferred, within } from '../../base/deferred.ts'
import { TimeoutError } from '../../base/timeout-error.ts'
import { Confirmation } from './confirmation.ts'
import { Discovery } from './discovery.ts'
import { epochJumpMax, type Epochs } from '../../storage/epochs.ts'
import { counterOf, epochOf, epochStart } from '../../storage/zxid.ts'
import { drained, sendHistory } from './links/pace.ts'
import { LearnerLinks } from './links/learner-links.ts'
import { LearnerProgress, type LearnerView } from './learner-progress.ts'
import { refuseStranger } from './strangers.ts'
import { expectPacket, LinkLostError, ProtocolError, type PacketLink } from './links/packet-link.ts'
import { verifierOf, type Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { mayGoOnLeading, RoleChange } from './role-change.ts'
import { sendSnapshot } from './links/snapshot-stream.ts'
import { planSync, type LeaderStart, type SyncPlan } from './synchronisation.ts'
import type { ZabOptions, ZabTrace } from './options.ts'

/** The last counter that may be proposed; the next epoch begins behind it. */
const counterMaxDefault = 0xfffffffen
/** In the last part of an epoch, one in so many, the next one is begun at the first good moment. */
const epochReserveDivisor = 64n
const counterUsedUp = 'the counter of this epoch is used up'

/** How long a stopping leader waits for what it has proposed. */
const finishMsMax = 500

/** Of the time that followers wait for their leader: no two clocks go alike. */
const leasePart = 0.9

/** Above this a snapshot is shorter than what a learner has not taken yet, for most databases. */
const learnerQueueBytesMaxDefault = 128 * 1024 * 1024

export interface LeaderParts {
  readonly self: ServerId
  readonly configs: MembershipState
  readonly epochs: Epochs
  readonly db: Database
  readonly committedLog: CommittedLog
  /**
   * The logged transactions after a zxid, as far as they are before another one; undefined where
   * the disk does not reach back so far, or a snapshot would be shorter.
   */
  readonly readHistory: (after: bigint, before: bigint) => Promise<LoggedTxn[] | undefined>
  readonly host: Host
  readonly nowMs: () => number
  readonly trace: ZabTrace
  /** The leader is established: clients may be served from now on. */
  readonly serve: (parts: {
    lastZxid: bigint
    mayPropose: (zxid: bigint) => boolean
    onProposed: (zxid: bigint, batch: LogBatch) => void
    reconfiguring: Reconfiguring
    /** Calls back once we are known to have led after this, and what was proposed is committed. */
    confirm: ((confirmed: () => void) => void) | undefined
    /** To be told when all that clients have sent is read: only then is that called back. */
    allRead: () => void
  }) => Proposer
  /** Clients have to wait while it is not known whether we still lead. */
  readonly hold?: (isOn: boolean) => void
  /** A voter has come to be led by us. */
  readonly joined?: (sid: ServerId) => void
  /** A learner asks whether a session may go on there. */
  readonly revalidated?: () => void
}

/** What was read from the log for a learner, up to where memory began at that time. */
interface OlderHistory {
  readonly txns: readonly LoggedTxn[]
  readonly before: bigint
}

/** A sync, which is answered when we are known to have led after it came. */
interface PendingSync {
  /** What was proposed before it is committed first, and nothing that was proposed later. */
  readonly after: bigint
  readonly round: number
  readonly answer: () => void
}

/** A transaction that waits for its quorum. */
interface Outstanding extends LoggedTxn {
  /** What learners are told when this is committed. */
  readonly behind: { readonly learner: LearnerProgress; readonly send: () => void }[]
  /** Whose client waits for it, if it is another server's. */
  readonly requestingLearner: LearnerProgress | undefined
}

/**
 * Leads: agrees with a quorum on an epoch nobody used, brings every learner to its own history,
 * and then orders transactions: proposed to all, committed once a quorum has them on disk.
 *
 * `lead` runs until leadership ends, for whatever reason; what was proposed and not committed
 * is then in the log and counts in the next election.
 */
export class Leader {
  private readonly parts: LeaderParts
  private readonly options: ZabOptions
  private readonly learners = new Set<LearnerProgress>()
  /** Of all who connected, also before it is known who they are. */
  private readonly links: LearnerLinks
  private readonly ended = new Deferred<never>()
  private readonly established = new Deferred<void>()
  private readonly newLeaderAcks = new Set<ServerId>()
  private readonly start: LeaderStart
  private readonly discovery: Discovery
  private proposer: Proposer | undefined
  private readonly outstanding = new Fifo<Outstanding>()
  private readonly syncs = new Fifo<PendingSync>()
  private readonly confirmation: Confirmation
  /** The round that must be confirmed before anybody is answered again. */
  private doubtedRound: number | undefined
  /** When the first follower took our history; long ago, where this server has stood still. */
  private followedSinceMs: number | undefined
  /** Who asks for what is being proposed. */
  private requestingLearner: LearnerProgress | undefined
  /** Up to where the log of each voter, ours among them, is known to hold this epoch. */
  private readonly acknowledged = new Map<ServerId, bigint>()
  private readonly keeper = new ByteKeeper()
  private committedZxid = 0n
  /** The change of configuration that is outstanding. */
  private reconfigZxid = -1n
  /** Resolves when none is. */
  private reconfigured = nothingPending()
  private ticks = 0
  /** Set by `finish`: resolves when nothing is outstanding. */
  private finished: Deferred<void> | undefined
  private readonly counterMax: bigint

  constructor(parts: LeaderParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
    this.links = new LearnerLinks(parts.trace)
    this.counterMax = options.counterMax ?? counterMaxDefault
    this.start = { epoch: parts.epochs.current, zxid: parts.db.lastZxid }
    this.discovery = new Discovery(parts, this.start, (error) => this.end(error))
    const { self, configs } = parts
    const voters = { self, learners: this.learners, verifier: () => configs.verifier }
    this.confirmation = new Confirmation(voters, parts.nowMs())
  }

  private get isOver(): boolean {
    return this.links.isOver
  }

  get epoch(): bigint {
    return this.discovery.epoch
  }

  get isEstablished(): boolean {
    return this.proposer !== undefined
  }

  /** In the log, or on the way there, but not known to be committed. */
  get uncommitted(): readonly LoggedTxn[] {
    return this.outstanding.all()
  }

  get learnerCount(): number {
    return this.learners.size
  }

  /** Those who ask to be answered once everything before is committed. */
  get pendingSyncs(): number {
    return this.syncs.length
  }

  get learnerViews(): LearnerView[] {
    return Array.from(this.learners, ({ view }) => view)
  }

  /** Counts what observers say and are told from nothing again. */
  resetObserverCounts(): void {
    for (const learner of this.learners) if (learner.isObserver) learner.resetCounts()
  }

  // --- the course of a leadership --------------------------------------------------------------

  /** Rejects when leadership ends, with the reason. */
  async lead(): Promise<never> {
    const { host, epochs, self, trace } = this.parts
    const { chosen, acknowledged } = this.discovery
    const limitMs = this.options.tickMs * this.options.initLimit
    try {
      this.discovery.join(self, epochs.accepted)
      await this.orEnd(within(host, limitMs, 'agreeing on an epoch', chosen.promise))
      this.nameFirstConfig()
      this.discovery.acknowledge(self, epochs.current, this.start.zxid)
      await this.orEnd(within(host, limitMs, 'acknowledging the epoch', acknowledged.promise))
      // Our history is that of the new epoch from here on; it is durable already.
      await epochs.setCurrent(this.epoch)
      if (this.isOver) return await this.ended.promise
      this.acknowledgeNewLeader(self)
      await this.orEnd(within(host, limitMs, 'bringing up a quorum', this.established.promise))
      trace({ type: 'leading', epoch: this.epoch })
      return await this.ended.promise
    } finally {
      this.stop()
      // What was begun on disk comes to its end before another role touches the disk.
      await this.discovery.settled
    }
  }

  /**
   * What a configuration file says has version 0, whatever it says. Once servers agree on it, it must
   * count for more than that of one that would join them.
   */
  private nameFirstConfig(): void {
    const { configs } = this.parts
    if (configs.newest.version !== 0n) return
    configs.see({ ...configs.committed, version: epochStart(this.epoch) })
  }

  private orEnd<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.ended.promise])
  }

  /**
   * Proposes nothing new; resolves when all that was proposed is committed, and therefore in the
   * logs of a quorum, from which the successor comes. Without a quorum, after a while.
   */
  async finish(): Promise<void> {
    this.finished ??= new Deferred()
    if (this.outstanding.length === 0) this.finished.resolve()
    const { done, cut } = this.parts.host.delay(finishMsMax)
    await Promise.race([this.finished.promise, done]).finally(cut)
  }

  /**
   * What is asked for meanwhile waits, and is asked of the leader of the next epoch; that comes after
   * `promised`.
   */
  private async beginNextEpoch(reason: string, promised = this.epoch): Promise<void> {
    const { trace, epochs } = this.parts
    trace({ type: 'handingOver', reason })
    await this.finish()
    if (this.isOver) return
    if (promised > epochs.accepted) await this.discovery.promise(promised)
    this.end(new Error(reason))
  }

  /**
   * A member that promised a newer epoch, to a leader that came to nothing, may not be led in ours;
   * in Apache it is away until something else ends this leadership.
   */
  private beginEpochFor(sid: ServerId, promised: bigint): void {
    if (this.proposer === undefined || this.finished !== undefined) return
    if (promised <= this.epoch || !this.parts.configs.committed.servers.has(sid)) return
    // One that is led already is another server with the same number.
    for (const learner of this.learners)
      if (learner.sid === sid && learner.hasReached('following')) return
    void this.beginNextEpoch(`server ${sid} has promised epoch ${promised} already`, promised)
  }

  /** A voter that could lead instead, and has logged so much: without an argument, all we have. */
  successor(zxid = this.proposer?.lastProposedZxid ?? 0n): ServerId | undefined {
    const { verifier, committed } = this.parts.configs
    let best: ServerId | undefined
    for (const learner of this.learners) {
      const { sid } = learner
      // Who has a vote only in what is proposed may not lead yet.
      if (committed.servers.get(sid)?.role !== 'participant') continue
      if (!learner.isUpToDateVoter) continue
      if (verifier.weight(sid) === 0n) continue
      const logged = this.acknowledged.get(sid) ?? learner.history
      // Without a transaction in this epoch, it has as much once it counts itself into the epoch.
      const isWhole = counterOf(zxid) === 0n ? learner.hasReached('following') : logged >= zxid
      // Among equals the election prefers the largest number: so all of them agree at once.
      if (isWhole && (best === undefined || sid > best)) best = sid
    }
    return best
  }

  /**
   * Rather when all voters are there, and nobody has to be waited for, than when there is no counter
   * left.
   */
  private beginNextEpochInTime(): void {
    if (this.proposer === undefined || this.finished !== undefined) return
    const { counterMax } = this
    if (counterOf(this.proposer.lastProposedZxid) <= counterMax - counterMax / epochReserveDivisor)
      return
    const present = new Set<ServerId>([this.parts.self])
    for (const learner of this.learners) if (learner.isUpToDateVoter) present.add(learner.sid)
    for (const voter of this.parts.configs.verifier.voters) if (!present.has(voter)) return
    void this.beginNextEpoch(counterUsedUp)
  }

  /** Ends the leadership; nothing is confirmed any more. */
  end(reason: Error): void {
    this.ended.reject(reason)
    this.stop()
  }

  private stop(): void {
    if (this.isOver) return
    this.links.end()
    this.learners.clear()
  }

  /** Every half tick: learners are asked for a sign of life, and every other time counted. */
  halfTick(): void {
    this.dropSlow()
    this.beginNextEpochInTime()
    if (this.isOver) return
    if (this.proposer !== undefined) this.confirmation.begin(this.parts.nowMs(), this.lastProposed)
    for (const learner of this.learners) {
      if (learner.hasReached('sent') && !learner.hasReached('upToDate'))
        learner.link.send('ping', this.lastProposed)
    }
    if (++this.ticks % 2 !== 0 || this.proposer === undefined) return
    const tick = this.ticks / 2
    const alive = new Set<ServerId>([this.parts.self])
    for (const { sid, isObserver, deadlineTick } of this.learners) {
      if (!isObserver && deadlineTick >= tick) alive.add(sid)
    }
    if (!this.parts.configs.verifier.isQuorum(alive)) {
      this.end(new TimeoutError('a quorum of followers has not been heard of in time'))
    }
    for (const learner of this.learners) {
      if (learner.hasReached('sent') && learner.deadlineTick < tick) {
        this.drop(learner, 'it was silent for too long')
      }
    }
  }

  private get lastProposed(): bigint {
    return this.proposer?.lastProposedZxid ?? this.parts.db.lastZxid
  }

  /** One that answers, but does not log what is proposed, is slower than the ensemble allows. */
  private dropSlow(): void {
    const { tickMs, syncLimit } = this.options
    const nowMs = this.parts.nowMs()
    for (const learner of this.learners) {
      if (learner.acks.owedForMs(nowMs) > tickMs * syncLimit) {
        this.drop(learner, 'it did not acknowledge a proposal in time')
      }
    }
  }

  // --- learners --------------------------------------------------------------------------------

  /** A server connected to be led. */
  accept(link: PacketLink): void {
    this.links.accept(link, () => this.serveLearner(link))
  }

  private async serveLearner(link: PacketLink): Promise<void> {
    const { host } = this.parts
    const limitMs = this.options.tickMs * this.options.initLimit
    const hello = await this.links.of(link, within(host, limitMs, 'an introduction', link.next()))
    const isObserver = expectPacket(hello, 'followerInfo', 'observerInfo') === 'observerInfo'
    const info = readLearnerInfo(hello.data)
    if (info === undefined) throw new MalformedError('a learner that does not say who it is')
    const sid = info.serverId
    if (sid === this.parts.self) throw new MalformedError(`another server ${sid}: our own number`)
    if (info.configVersion > this.parts.configs.newest.version) {
      throw new MalformedError(`server ${sid} knows a newer configuration than its leader`)
    }
    refuseStranger(sid, this.parts.configs, this.options)
    const promised = epochOf(hello.zxid)
    this.refuseAbsurd(sid, promised, link)
    if (!isObserver) this.parts.joined?.(sid)
    this.discovery.join(sid, promised)
    this.beginEpochFor(sid, promised)
    const epoch = await this.links.of(link, this.discovery.chosen.promise)
    link.send('leaderInfo', epochStart(epoch), encodeInt(quorumProtocolVersion))
    const ack = await this.links.of(
      link,
      within(host, limitMs, 'an answer to the epoch', link.next()),
    )
    expectPacket(ack, 'ackEpoch')
    const held = historyIn(ack)
    if (!isObserver && held !== undefined) {
      this.discovery.acknowledge(sid, held.currentEpoch, held.lastZxid)
    }
    await this.links.of(link, this.discovery.acknowledged.promise)

    const deadlineTick = this.joinDeadline()
    const joining = { isObserver, joinedWallMs: host.wallMs(), deadlineTick }
    const learner = new LearnerProgress(link, sid, joining)
    this.replaceOlder(sid)
    this.learners.add(learner)
    link.onClosed = () => {
      this.links.forget(link)
      this.lost(learner)
    }
    const older = await this.links.of(link, this.olderHistory(ack.zxid))
    await this.synchronise(learner, ack.zxid, older)
    link.onPacket(
      (packet) => this.receive(learner, packet),
      () => this.advanceCommit(),
    )
  }

  /** No server gets so far by itself. An attacker would say so, to use up all epochs. */
  private refuseAbsurd(sid: ServerId, promised: bigint, { remoteAddress }: PacketLink): void {
    const { epochs, configs, trace } = this.parts
    const isPossible = promised >= 0n && promised - epochs.accepted <= epochJumpMax
    if (isPossible || !configs.isMember(sid)) return
    trace({ type: 'epochRefused', sid, address: remoteAddress, promised, own: epochs.accepted })
    throw new MalformedError(`server ${sid} says that it has promised epoch ${promised}`)
  }

  private joinDeadline(): number {
    const { initLimit, syncLimit } = this.options
    return Math.floor(this.ticks / 2) + initLimit + syncLimit
  }

  /** What memory lacks for a learner that was away for long, from the log. */
  private async olderHistory(learnerZxid: bigint): Promise<OlderHistory | undefined> {
    const { committedLog, db, readHistory } = this.parts
    const plan = planSync(learnerZxid, committedLog.all(), db.lastZxid, this.start)
    const before = committedLog.min
    if (plan.kind !== 'snap' || learnerZxid >= before) return undefined
    const txns = await readHistory(learnerZxid, before)
    return txns && { txns, before }
  }

  /** To be acted upon before anything else happens: the next commit makes it wrong. */
  private planFor(learnerZxid: bigint, older: OlderHistory | undefined): SyncPlan {
    const { committedLog, db } = this.parts
    if (this.options.alwaysSendSnapshot === true) return { kind: 'snap' }
    const inMemory = committedLog.all()
    // While the log was read, the oldest in memory may have been dropped: that is a gap, and one
    // that cannot be seen where what is left begins a new epoch.
    const isWhole = older !== undefined && older.before === committedLog.min
    const history = isWhole ? [...older.txns, ...inMemory] : inMemory
    return planSync(learnerZxid, history, db.lastZxid, this.start)
  }

  /** A server that connects anew has left its old connection, even if that is not closed yet. */
  private replaceOlder(sid: ServerId): void {
    for (const learner of this.learners) if (learner.sid === sid) this.drop(learner, 'it came anew')
  }

  /** Whatever is proposed and committed from now on reaches the learner behind its history. */
  private async synchronise(
    learner: LearnerProgress,
    learnerZxid: bigint,
    older: OlderHistory | undefined,
  ): Promise<void> {
    const { link, sid } = learner
    const { db, trace } = this.parts
    // From here to `forward` nothing is awaited, so no transaction falls in between.
    const plan = this.planFor(learnerZxid, older)
    // What it acknowledged on an earlier connection it may now have to cut off again: that counts
    // only once it is logged anew.
    this.acknowledged.delete(sid)
    this.refuseTooMany(learner, plan.kind === 'snap')
    const fromDisk = plan.kind !== 'snap' && older !== undefined
    trace({ type: 'synchronising', sid, plan: plan.kind, fromDisk })
    let sent: bigint
    // The one that holds where the history ends.
    let config: Uint8Array
    if (plan.kind === 'snap') {
      sent = db.lastZxid
      const source = db.snapshotSource()
      link.send('snap', sent)
      learner.hold()
      this.forward(learner, sent)
      await sendSnapshot(link, source, () => this.drained(link), this.options.sliceBytes)
      // An Apache learner would take what it is told before NEWLEADER for committed.
      do await this.links.of(link, this.reconfigured.promise)
      while (this.reconfigZxid >= 0n)
      learner.release()
      config = this.configNow
    } else {
      link.send(plan.kind, plan.zxid)
      sent = plan.txns.at(-1)?.zxid ?? plan.zxid
      config = this.configNow
      learner.hold()
      this.forward(learner, sent)
      await sendHistory(link, plan.txns, () => this.drained(link), this.options.sliceBytes)
    }
    if (link.isClosed) throw new LinkLostError('the learner has left')
    // Behind the whole history: older releases queued it before, and lost data by that.
    link.send('newLeader', epochStart(this.epoch), config)
    // Followers of many Apache releases fail over a commit between this and UPTODATE.
    learner.hold()
    learner.become('sent')
    learner.history = sent
    learner.deadlineTick = this.joinDeadline()
  }

  /** Without a quorum everybody is needed; afterwards many at once would only slow each other down. */
  private refuseTooMany(learner: LearnerProgress, isSnap: boolean): void {
    learner.plan = isSnap ? 'snap' : 'diff'
    const { syncsMax } = this.options
    if (syncsMax === undefined || this.proposer === undefined) return
    const alike = [...this.learners].filter(
      (other) => other.plan === learner.plan && !other.hasReached('acknowledged'),
    )
    if (alike.length <= (isSnap ? syncsMax.snaps : syncsMax.diffs)) return
    throw new ProtocolError(`server ${learner.sid} has to wait: ${alike.length - 1} are brought up`)
  }

  /** What we have proposed since we lead is not committed yet: it comes as a proposal. */
  private get configNow(): Uint8Array {
    const { configs } = this.parts
    return this.isEstablished ? configs.committedText : configs.newestText
  }

  private drained(link: PacketLink): Promise<void> {
    return drained(this.parts.host, this.options.tickMs * this.options.initLimit, link)
  }

  private forward(learner: LearnerProgress, sent: bigint): void {
    learner.become('synchronising')
    if (learner.isObserver) return
    for (const { zxid, payload } of this.outstanding.all()) {
      if (zxid > sent) this.sendProposal(learner, zxid, payload)
    }
  }

  private sendProposal(learner: LearnerProgress, zxid: bigint, payload: Uint8Array): void {
    this.toLearner(learner, payload.length, () => {
      learner.link.send('proposal', zxid, payload)
      // What is part of the history it joins with is acknowledged with NEWLEADER, or later.
      if (learner.hasReached('acknowledged')) learner.acks.sent(zxid, this.parts.nowMs())
    })
  }

  private toLearner(learner: LearnerProgress, bytes: number, send: () => void): void {
    learner.tell(bytes, send)
    const { learnerQueueBytesMax = learnerQueueBytesMaxDefault } = this.options
    if (learner.queuedBytes > learnerQueueBytesMax) this.drop(learner, 'too much waits for it')
  }

  private lost(learner: LearnerProgress): void {
    learner.become('gone')
    this.learners.delete(learner)
    if (this.isOver || this.proposer === undefined) return
    // Without a quorum nothing can be confirmed: better to say so at once than after a tick.
    const connected = new Set<ServerId>([this.parts.self])
    for (const learner of this.learners) {
      if (learner.hasReached('synchronising') && !learner.isObserver) connected.add(learner.sid)
    }
    if (!this.parts.configs.verifier.isQuorum(connected)) {
      this.end(new LinkLostError('the connections to a quorum of followers are lost'))
    }
  }

  private drop(learner: LearnerProgress, reason: string): void {
    this.parts.trace({ type: 'learnerDropped', sid: learner.sid, reason })
    learner.link.close()
  }

  // --- a quorum holds our history --------------------------------------------------------------

  private acknowledgeNewLeader(sid: ServerId): void {
    const { self } = this.parts
    const { verifier } = this.parts.configs
    if (verifier.voters.has(sid)) this.newLeaderAcks.add(sid)
    if (sid !== self) this.followedSinceMs ??= this.parts.nowMs()
    if (this.isOver || this.proposer !== undefined || !this.newLeaderAcks.has(self)) return
    if (verifier.isQuorum(this.newLeaderAcks)) this.establish()
  }

  /** A quorum holds our history durably, so all of it is committed, and the new epoch begins. */
  private establish(): void {
    const lastZxid = epochStart(this.epoch)
    this.committedZxid = lastZxid
    this.parts.db.advance(lastZxid)
    const { self, configs } = this.parts
    const before = configs.committed
    configs.commit(configs.newest)
    const mayLead = mayGoOnLeading(before, configs.committed, self)
    if (mayLead) {
      const { mayPropose, onProposed, reconfiguring, allRead } = this
      const confirm = this.options.confirmSyncs === false ? undefined : this.sync
      const proposing = { mayPropose, onProposed, reconfiguring, confirm, allRead }
      this.proposer = this.parts.serve({ lastZxid, ...proposing })
      this.established.resolve()
    }
    for (const learner of this.learners)
      if (learner.hasReached('acknowledged')) learner.sendUpToDate()
    const nowMs = this.parts.nowMs()
    this.confirmation.confirmedMs = this.followedSinceMs ?? nowMs
    this.passed(nowMs, nowMs)
    // Our predecessor proposed a configuration without us, and that is complete now.
    if (!mayLead) this.end(new RoleChange('the new configuration wants another leader', undefined))
  }

  // --- broadcast -------------------------------------------------------------------------------

  /** Asked before anything is logged: what is in our log must be known to be there. */
  private readonly mayPropose = (zxid: bigint): boolean => {
    if (this.finished !== undefined) return false
    if (counterOf(zxid) <= this.counterMax) return true
    void this.beginNextEpoch(counterUsedUp)
    return false
  }

  private readonly onProposed = (zxid: bigint, batch: LogBatch): void => {
    const end = batch.writer.position - 1 // without the mark that ends a log record
    const payload = this.keeper.keep(batch.writer.view, batch.payloadStart, end)
    this.outstanding.push({ zxid, payload, behind: [], requestingLearner: this.requestingLearner })
    for (const learner of this.learners) {
      if (learner.hasReached('synchronising') && !learner.isObserver)
        this.sendProposal(learner, zxid, payload)
    }
  }

  /** Our own log holds everything up to here. */
  logged(zxid: bigint): void {
    this.acknowledge(this.parts.self, zxid)
    this.advanceCommit()
  }

  /** A log holds everything up to here: servers log in order, without gaps. */
  private acknowledge(sid: ServerId, zxid: bigint): void {
    const { last } = this.outstanding
    if (last === undefined || zxid > last.zxid) return
    if (zxid > (this.acknowledged.get(sid) ?? 0n)) this.acknowledged.set(sid, zxid)
  }

  /** In order: nothing is committed before everything before it is. */
  private advanceCommit(): void {
    // Whether others lead by now is not known: nobody is told anything before it is.
    if (this.doubtedRound !== undefined) return
    const { verifier } = this.parts.configs
    const upTo = this.quorumZxid()
    const { outstanding } = this
    for (
      let next = outstanding.first;
      next !== undefined && !this.isOver;
      next = outstanding.first
    ) {
      if (next.zxid > upTo || !this.answerSyncs(next.zxid)) break
      this.commit(next)
      outstanding.shift()
    }
    if (!this.isOver) this.answerSyncs()
    if (this.outstanding.length === 0) this.finished?.resolve()
    // Others decide from now on, and for them it may be enough already.
    if (verifier !== this.parts.configs.verifier && !this.isOver) this.advanceCommit()
  }

  /** The last transaction that the logs of a quorum hold. */
  private quorumZxid(): bigint {
    const { verifier } = this.parts.configs
    let highest = this.committedZxid
    for (const candidate of this.acknowledged.values()) {
      if (candidate <= highest) continue
      const holders = new Set<ServerId>()
      for (const [sid, zxid] of this.acknowledged) if (zxid >= candidate) holders.add(sid)
      if (verifier.isQuorum(holders)) highest = candidate
    }
    return highest
  }

  private commit(proposal: Outstanding): void {
    const { zxid, payload, behind } = proposal
    assert(zxid > this.committedZxid, 'transactions are committed in order')
    this.committedZxid = zxid
    if (zxid === this.reconfigZxid) {
      this.commitReconfig(proposal)
      return
    }
    // Who asked first: a client waits there.
    if (proposal.requestingLearner !== undefined)
      this.sendCommit(proposal.requestingLearner, proposal)
    for (const learner of this.learners) {
      if (learner !== proposal.requestingLearner) this.sendCommit(learner, proposal)
    }
    this.proposer!.commitUpTo(zxid)
    this.parts.committedLog.add({ zxid, payload })
    for (const { learner, send } of behind) this.toLearner(learner, 0, send)
  }

  private sendCommit(learner: LearnerProgress, { zxid, payload }: LoggedTxn): void {
    if (!learner.hasReached('synchronising')) return
    const { link, isObserver } = learner
    this.toLearner(learner, isObserver ? payload.length : 0, () => {
      if (isObserver) link.send('inform', zxid, payload)
      else link.send('commit', zxid)
    })
  }

  // --- whether we still lead -------------------------------------------------------------------

  /** Answers behind what is proposed by now; unless told otherwise, not before we know that we lead. */
  private readonly sync = (answer: () => void): void => {
    // As with a write, whoever asks a leader that is about to go asks the next one.
    if (this.finished !== undefined) return
    const after = this.outstanding.last?.zxid ?? this.committedZxid
    const isConfirmed = this.options.confirmSyncs !== false
    const round = isConfirmed ? this.confirmation.want(this.parts.nowMs(), this.lastProposed) : 0
    this.syncs.push({ after, round, answer })
  }

  /** All that has come is read: a sync that has to wait for nobody is answered. */
  private readonly allRead = (): void => {
    if (this.syncs.length > 0) this.answerSyncs()
  }

  /**
   * Answers the syncs that came before a transaction was proposed; false where one has to wait, and
   * so has the transaction: a client is answered in the order of its requests.
   */
  private answerSyncs(before?: bigint): boolean {
    for (let next = this.syncs.first; next !== undefined; next = this.syncs.first) {
      if (before !== undefined && next.after >= before) return true
      const isDue = next.after <= this.committedZxid && this.confirmation.isConfirmed(next.round)
      if (!isDue || this.doubtedRound !== undefined) return false
      this.syncs.shift()
      next.answer()
    }
    return true
  }

  /** A quorum has followed us to the end of a round of pings. */
  private confirmed(): void {
    this.confirmation.beginWanted(this.parts.nowMs(), this.lastProposed)
    if (this.doubtedRound !== undefined && this.confirmation.isConfirmed(this.doubtedRound)) {
      this.doubtedRound = undefined
      this.parts.hold?.(false)
    }
    if (this.syncs.length > 0 || this.outstanding.length > 0) this.advanceCommit()
  }

  /**
   * The time went on. Where this server stood still, or a quorum was not heard of for about as long
   * as followers wait for their leader, others may lead: nobody is answered before a quorum says
   * that it still follows.
   */
  passed(beforeMs: number, nowMs: number): void {
    const { tickMs, syncLimit } = this.options
    const stoodStill = nowMs - beforeMs > tickMs
    if (this.proposer === undefined) {
      // Acknowledgements that come from now on may have been sent before.
      if (stoodStill) this.followedSinceMs = -Infinity
      return
    }
    const isStale = nowMs - this.confirmation.confirmedMs > leasePart * tickMs * syncLimit
    if (!isStale && !stoodStill) return
    if (this.isOver || this.doubtedRound !== undefined) return
    this.doubtedRound = this.confirmation.begin(nowMs, this.lastProposed)
    this.parts.hold?.(true)
    this.confirmed()
  }

  // --- other members ---------------------------------------------------------------------------

  private readonly reconfiguring: Reconfiguring = {
    current: () => this.parts.configs.committed,
    isPending: () => this.parts.configs.seen !== undefined,
    isSynced: (config) => this.isSynced(config),
    propose: (config) => {
      // Who decides from here on must be settled before the proposal is: it needs both.
      this.parts.configs.see(config)
      this.reconfigZxid = config.version
      this.reconfigured = new Deferred()
    },
  }

  /** Whether those who would decide are here and up to date, so that they can. */
  private isSynced(config: Membership): boolean {
    const tick = Math.floor(this.ticks / 2)
    const synced = new Set<ServerId>([this.parts.self])
    for (const { sid, isUpToDateVoter, deadlineTick } of this.learners) {
      if (isUpToDateVoter && deadlineTick >= tick) synced.add(sid)
    }
    return verifierOf(config).isQuorum(synced)
  }

  /** Both configurations have agreed: the new one alone decides from here on. */
  private commitReconfig({ zxid, payload, behind }: Outstanding): void {
    const { configs, committedLog, self } = this.parts
    const before = configs.committed
    configs.commit(configs.seen!)
    const goesOn = mayGoOnLeading(before, configs.committed, self)
    const leader = goesOn ? self : (this.successor(zxid) ?? self)
    const named = new Writer(8 + payload.length)
    named.long(leader)
    const forFollowers = named.written().slice()
    named.raw(payload)
    const forObservers = named.written().slice()
    for (const learner of this.learners) {
      if (!learner.hasReached('synchronising')) continue
      const { link, isObserver } = learner
      this.toLearner(learner, isObserver ? payload.length : 0, () => {
        if (isObserver) link.send('informAndActivate', zxid, forObservers)
        else link.send('commitAndActivate', zxid, forFollowers)
      })
    }
    this.reconfigZxid = -1n
    this.proposer!.commitUpTo(zxid)
    committedLog.add({ zxid, payload })
    for (const { learner, send } of behind) this.toLearner(learner, 0, send)
    this.reconfigured.resolve()
    // Others decide from now on, and for them the answers may be enough already.
    if (this.confirmation.count()) this.confirmation.beginWanted(this.parts.nowMs(), zxid)
    if (!goesOn) this.end(new RoleChange(`server ${leader} is to lead from now on`, leader))
  }

  // --- what learners say -----------------------------------------------------------------------

  private receive(learner: LearnerProgress, packet: QuorumPacket): void {
    if (this.isOver) return
    learner.deadlineTick = Math.floor(this.ticks / 2) + this.options.syncLimit
    switch (packet.type) {
      case packetTypes.ack:
        this.receiveAck(learner, packet.zxid)
        return
      case packetTypes.ping:
        this.touchSessions(packet.data)
        if (this.confirmation.answered(learner)) this.confirmed()
        return
      case packetTypes.revalidate:
        this.revalidate(learner, packet)
        return
      case packetTypes.request:
        this.receiveRequest(learner, packet)
        return
      default:
    }
  }

  private receiveAck(learner: LearnerProgress, zxid: bigint): void {
    if (counterOf(zxid) !== 0n) {
      learner.acks.acknowledged(zxid)
      if (!learner.isObserver) this.acknowledge(learner.sid, zxid)
      return
    }
    if (zxid !== epochStart(this.epoch)) return
    if (learner.state !== 'sent') {
      if (learner.state === 'upToDate') learner.become('following')
      return
    }
    learner.become('acknowledged')
    const wasEstablished = this.proposer !== undefined
    if (!learner.isObserver) this.acknowledgeNewLeader(learner.sid)
    if (!wasEstablished) return
    learner.sendUpToDate()
    this.confirmation.joined(learner, this.lastProposed)
  }

  private touchSessions(data: Uint8Array | null): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    while (reader.remaining >= 12) this.proposer?.touchRemote(reader.long(), reader.int())
  }

  private revalidate(learner: LearnerProgress, { zxid, data }: QuorumPacket): void {
    this.parts.revalidated?.()
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const session = this.proposer?.takeSession(sessionId, reader.int(), learner)
    const writer = new Writer(16)
    writer.long(sessionId)
    writer.bool(session !== undefined)
    const answer = writer.written()
    const send = (): void => learner.link.send('revalidate', zxid, answer)
    // A follower was sent all that was proposed for the session elsewhere, an observer was not: it
    // would take the answer to that for one to what it asks for itself.
    if (learner.isObserver) this.behindOutstanding(learner, send)
    else send()
  }

  private behindOutstanding(learner: LearnerProgress, send: () => void): void {
    const { last } = this.outstanding
    if (last === undefined) send()
    else last.behind.push({ learner, send })
  }

  private receiveRequest(learner: LearnerProgress, { data, authinfo }: QuorumPacket): void {
    const { proposer } = this
    learner.requests++
    // Who asks a leader that is about to go is not answered, and asks the next one.
    if (proposer === undefined || this.finished !== undefined) return
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const xid = reader.int()
    const type = reader.int()
    this.requestingLearner = learner
    if (type === codes.createSession) {
      proposer.remoteCreateSession(learner, sessionId, reader.int())
    } else if (type === codes.closeSession) {
      proposer.remoteCloseSession(sessionId, xid)
    } else if (type === codes.sync) {
      this.sync(() => this.toLearner(learner, 0, () => learner.link.send('sync', 0n)))
      this.allRead()
    } else {
      const identities: Id[] = authinfo ?? []
      proposer.remoteWrite(learner, { sessionId, xid, type, identities }, reader)
    }
    this.requestingLearner = undefined
  }
}

/**
 * What a server has that promises our epoch; undefined where it does not say, and so does not count.
 * One that asks for everything says what it has behind the rest.
 */
function historyIn({
  data,
  zxid,
}: QuorumPacket): { readonly currentEpoch: bigint; readonly lastZxid: bigint } | undefined {
  if (data === null) throw new MalformedError('an acknowledgement without an epoch')
  const reader = new Reader(data)
  const epoch = reader.int()
  if (epoch >= 0) return zxid < 0n ? undefined : { currentEpoch: BigInt(epoch), lastZxid: zxid }
  if (zxid >= 0n || reader.remaining < 12) return undefined
  return { currentEpoch: BigInt(reader.int()), lastZxid: reader.long() }
}

function nothingPending(): Deferred<void> {
  const deferred = new Deferred<void>()
  deferred.resolve()
  return deferred
}

function encodeInt(value: number): Uint8Array {
  const writer = new Writer(4)
  writer.int(value)
  return writer.written()
}
