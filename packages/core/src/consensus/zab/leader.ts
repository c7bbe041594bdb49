import { codes, packetOf, packetTypes, Reader, Writer, type QuorumPacket } from '@zabra/protocol'
import { TimeoutError } from '../../base/timeout-error.ts'
import type { Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { Reconfiguring } from '../../operations/reconfig.ts'
import { EpochError } from '../../storage/epochs.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import { counterOf, epochStart } from '../../storage/zxid.ts'
import { Admission } from './admission.ts'
import { Broadcast } from './broadcast.ts'
import { Certainty } from './certainty.ts'
import { HandOver } from './hand-over.ts'
import { LeaderCore } from './leader-core.ts'
import type { LeaderInput, LeaderParts, LeaderReady, LearnerRequest } from './leader-ready.ts'
import type { LearnerProgress, LearnerView } from './learner-progress.ts'
import type { ZabOptions } from './options.ts'
import { Objections } from './objections.ts'
import { isPeerFault, LinkLostError } from './packets.ts'
import { Reconfiguration } from './reconfiguration.ts'
import { mayGoOnLeading, RoleChange } from './role-change.ts'
import { Synchronization } from './synchronization.ts'

/** The phases of a leader, in order. It stays in `leading` until its role ends. */
type Phase =
  /** A quorum is to join, which gives the epoch. */
  | 'choosingEpoch'
  /** The epoch is being promised here. */
  | 'promising'
  /** A quorum is to promise the epoch. */
  | 'awaitingPromises'
  /** A quorum is to take our history. The epoch is being stored here, or is. */
  | 'synchronizing'
  | 'leading'

/** The event that a leader awaits in each phase, for a limited time. */
const awaited: { readonly [Name in Phase]?: string } = {
  choosingEpoch: 'agreeing on an epoch',
  promising: 'agreeing on an epoch',
  awaitingPromises: 'acknowledging the epoch',
  synchronizing: 'bringing up a quorum',
}

/**
 * Leads: agrees with a quorum on an epoch nobody used, brings every learner to its own history,
 * and then orders transactions: proposed to all, committed once a quorum has them on disk. What was
 * proposed and not committed when the role ends is in the log, and counts in the next election.
 *
 * A machine: `step` takes an input, `takeReady` says what follows from it (see LeaderReady). Its
 * parts tell one story each:
 *
 * - Admission: from a connection to the promise of the epoch; Discovery counts the promises
 * - Synchronization: how a learner gets the history that it lacks
 * - Broadcast: proposals, acknowledgements, commits
 * - Reconfiguration: other members
 * - Certainty: syncs, and whether this server still leads
 * - HandOver: the end of an epoch that is planned
 */
export class Leader {
  private readonly core: LeaderCore
  private readonly admission: Admission
  private readonly certainty: Certainty
  private readonly handOver: HandOver
  private readonly synchronization: Synchronization
  private readonly reconfiguration: Reconfiguration
  private readonly broadcast: Broadcast
  private readonly objections = new Objections()
  private readonly newLeaderAcks = new Set<ServerId>()
  private phase: Phase = 'choosingEpoch'
  /** When this phase ends at the latest. */
  private deadlineMs = Infinity
  private halfTicks = 0
  /** Acknowledgements have come since the last look at what they commit. */
  private hasAcks = false

  constructor(parts: LeaderParts, options: ZabOptions) {
    this.core = new LeaderCore(parts, options)
    const { core } = this
    this.admission = new Admission(core)
    this.certainty = new Certainty(core)
    this.handOver = new HandOver(core)
    this.synchronization = new Synchronization(core)
    const { certainty, handOver, synchronization } = this
    this.reconfiguration = new Reconfiguration(core, { certainty, handOver, synchronization })
    this.broadcast = new Broadcast(core, certainty, this.reconfiguration)
  }

  // --- what it can be asked ----------------------------------------------------------------------

  get epoch(): bigint {
    return this.core.epoch
  }

  get isEstablished(): boolean {
    return this.core.isEstablished
  }

  get isOver(): boolean {
    return this.core.isOver
  }

  /** Logged or being logged, and not known to be committed. */
  get uncommitted(): readonly LoggedTxn[] {
    return this.core.outstanding.all()
  }

  get hasUncommitted(): boolean {
    return this.core.outstanding.length > 0
  }

  get learners(): ReadonlySet<LearnerProgress> {
    return this.core.learners.led
  }

  get learnerViews(): LearnerView[] {
    return Array.from(this.learners, ({ view }) => view)
  }

  /** Number of syncs that wait for an answer. */
  get pendingSyncs(): number {
    return this.certainty.syncs.length
  }

  /** Called before anything is logged: the leader must know of everything in its log. */
  mayPropose(zxid: bigint): boolean {
    return !this.core.isFinishing && counterOf(zxid) <= this.handOver.counterMax
  }

  /** A voter that could lead instead and has logged up to a zxid; by default, everything. */
  successor(zxid = this.core.lastProposedZxid): ServerId | undefined {
    return this.handOver.successor(zxid)
  }

  /** Enough voters follow to elect one of them without this server. */
  get othersAreQuorum(): boolean {
    const followers = [...this.core.learners.led].filter(
      (learner) => !learner.isObserver && learner.hasReached('acknowledged'),
    )
    return this.core.parts.configs.verifier.isQuorum(new Set(followers.map(({ sid }) => sid)))
  }

  /** Used to prepare a change of members. Its proposal is the input `reconfig`. */
  get members(): Omit<Reconfiguring, 'propose'> {
    const { configs } = this.core.parts
    return {
      current: () => configs.committed,
      isPending: () => configs.seen !== undefined,
      isSynced: (config: Membership) => this.reconfiguration.isSynced(config),
    }
  }

  // --- in and out --------------------------------------------------------------------------------

  step(input: LeaderInput, nowMs: number): void {
    const { core } = this
    core.nowMs = core.learners.nowMs = nowMs
    // Transactions in the log count, even after the role has ended.
    if (input.type === 'proposed') this.broadcast.proposed(input)
    else if (input.type === 'connected' && core.isOver) core.learners.close(input.learner)
    else if (!core.isOver) this.take(input)
    if (core.learners.hasLost) this.checkConnections()
  }

  /** The results of the inputs since the last call; undefined if there are none. */
  takeReady(): LeaderReady | undefined {
    const { core } = this
    const { made } = core
    core.made = undefined
    return made
  }

  private take(input: Exclude<LeaderInput, { type: 'proposed' }>): void {
    switch (input.type) {
      case 'packet':
        this.takePacket(input.learner, input.packet)
        return
      case 'packetsRead':
        if (this.hasAcks) this.advanceCommit()
        return
      case 'logged':
        this.broadcast.acknowledge(this.core.self, input.zxid)
        this.advanceCommit()
        return
      case 'passed':
        this.passed(input.sinceMs)
        return
      case 'tick':
        this.tick()
        return
      case 'allRead':
        this.certainty.answerSyncs()
        return
      case 'sync':
        this.certainty.sync(input.ticket)
        return
      case 'refused':
        this.handOver.refused()
        return
      case 'reconfig':
        this.reconfiguration.propose(input.config)
        return
      case 'revalidated':
        this.revalidated(input)
        return
      case 'halfTick':
        this.halfTick()
        return
      case 'begin':
        this.begin()
        return
      case 'stored':
        this.stored()
        return
      case 'finish':
        this.core.isFinishing = true
        return
      case 'end':
        this.core.end(input.reason)
        return
      default:
        this.takeConnection(input)
    }
  }

  private takeConnection(
    input: Extract<
      LeaderInput,
      { type: 'connected' | 'historySent' | 'logRead' | 'failed' | 'lost' }
    >,
  ): void {
    const { learner } = input
    switch (input.type) {
      case 'connected':
        this.admission.connected(learner)
        return
      case 'historySent':
        this.synchronization.historySent(learner)
        return
      case 'logRead':
        this.synchronization.logRead(learner, input.txns)
        return
      case 'failed':
        if (learner.state !== 'gone') this.core.learners.refuse(learner, input.reason)
        return
      case 'lost':
        this.core.learners.remove(learner)
    }
  }

  // --- the course of a leadership ----------------------------------------------------------------

  private enter(phase: Phase): void {
    this.phase = phase
    this.deadlineMs = awaited[phase] === undefined ? Infinity : this.core.nowMs + this.core.limitMs
  }

  private begin(): void {
    const { self, parts } = this.core
    this.enter('choosingEpoch')
    this.join(() => this.core.discovery.join(self, parts.epochs.accepted))
  }

  /** A server joins, this one or a learner; with a quorum the epoch is chosen. */
  private join(work: () => void): void {
    const { core } = this
    try {
      work()
    } catch (error) {
      if (!(error instanceof EpochError)) throw error
      core.end(error)
    }
    if (core.isOver || this.phase !== 'choosingEpoch' || !core.discovery.isChosen) return
    this.phase = 'promising'
    core.store({ type: 'acceptEpoch', epoch: core.epoch })
  }

  private stored(): void {
    if (this.phase === 'promising') this.promised()
    else if (this.phase === 'synchronizing') this.acknowledgeNewLeader(this.core.self)
    else this.handOver.proceed()
  }

  /** This server has promised the epoch, so no other leader can use it: learners are asked to promise it. */
  private promised(): void {
    const { core, admission } = this
    const { self, epochs } = core.parts
    this.enter('awaitingPromises')
    for (const learner of core.learners.joining) {
      if (learner.state === 'introduced') admission.ask(learner)
    }
    this.nameFirstConfig()
    core.discovery.acknowledge(self, epochs.current, core.start.zxid)
    this.checkPromises()
  }

  /**
   * A configuration from a file has version 0, whatever its content. Once servers agree on it, it must
   * count for more than that of one that would join them.
   */
  private nameFirstConfig(): void {
    const { configs } = this.core.parts
    if (configs.newest.version !== 0n) return
    configs.see({ ...configs.committed, version: epochStart(this.epoch) })
  }

  /** Once a quorum has promised the epoch, its servers are synchronized with this server's history. */
  private checkPromises(): void {
    const { core, synchronization } = this
    if (!core.discovery.isPromised) return
    if (this.phase === 'awaitingPromises') {
      this.enter('synchronizing')
      // This server's history, which is durable, is that of the new epoch from now on.
      core.store({ type: 'enterEpoch', epoch: this.epoch })
    }
    for (const learner of core.learners.joining) {
      if (learner.state === 'promised') synchronization.begin(learner)
    }
  }

  private acknowledgeNewLeader(sid: ServerId): void {
    const { self } = this.core
    const { verifier } = this.core.parts.configs
    if (verifier.voters.has(sid)) this.newLeaderAcks.add(sid)
    if (sid !== self) this.certainty.followed()
    if (this.isEstablished || !this.newLeaderAcks.has(self)) return
    if (verifier.isQuorum(this.newLeaderAcks)) this.establish()
  }

  /** A quorum has this server's history on disk, so all of it is committed, and the epoch begins. */
  private establish(): void {
    const { core } = this
    const { configs } = core.parts
    const zxid = epochStart(this.epoch)
    this.enter('leading')
    core.beginEpoch(zxid)
    const before = configs.committed
    configs.commit(configs.newest)
    const serves = mayGoOnLeading(before, configs.committed, core.self)
    core.ready.established = { zxid, serves }
    for (const learner of core.learners.led) {
      if (learner.hasReached('acknowledged')) core.learners.sendUpToDate(learner)
    }
    this.certainty.established()
    this.passed(core.nowMs)
    // A configuration without this server, which the previous leader proposed, is complete now.
    if (!serves) core.end(new RoleChange('the new configuration wants another leader', undefined))
  }

  // --- time --------------------------------------------------------------------------------------

  private tick(): void {
    const { core } = this
    this.admission.refuseSilent()
    this.handOver.proceed()
    if (core.isOver || core.nowMs <= this.deadlineMs) return
    core.end(new TimeoutError(`${awaited[this.phase]} took longer than ${core.limitMs} ms`))
  }

  /** Pings the learners; every other time it checks that they are a quorum. */
  private halfTick(): void {
    const { core } = this
    this.dropSlow()
    this.handOver.beginInTime()
    if (core.isOver) return
    if (this.isEstablished) this.certainty.beginRound()
    for (const learner of core.learners.led) {
      if (learner.hasReached('sent') && !learner.hasReached('upToDate')) {
        core.learners.send(learner, packetOf('ping', core.lastProposedZxid))
      }
    }
    if (++this.halfTicks % 2 !== 0) return
    core.tick++
    if (this.isEstablished) this.dropSilent()
  }

  /** Drops learners that answer pings but log proposals too slowly. */
  private dropSlow(): void {
    const { core } = this
    const { tickMs, syncLimit } = core.options
    for (const learner of core.learners.led) {
      if (learner.acks.owedForMs(core.nowMs) > tickMs * syncLimit) {
        core.learners.drop(learner, 'it did not acknowledge a proposal in time')
      }
    }
  }

  private dropSilent(): void {
    const { core } = this
    const alive = new Set<ServerId>([core.self])
    for (const { sid, isObserver, deadlineTick } of core.learners.led) {
      if (!isObserver && deadlineTick >= core.tick) alive.add(sid)
    }
    if (!core.parts.configs.verifier.isQuorum(alive)) {
      core.end(new TimeoutError('a quorum of followers has not been heard of in time'))
    }
    for (const learner of core.learners.led) {
      if (learner.hasReached('sent') && learner.deadlineTick < core.tick) {
        core.learners.drop(learner, 'it was silent for too long')
      }
    }
  }

  /** Time has passed since `beforeMs`; another server may lead now. */
  private passed(beforeMs: number): void {
    if (this.certainty.passed(beforeMs)) this.confirmed()
  }

  /** Without a quorum nothing can be confirmed, so the role ends at once instead of after a tick. */
  private checkConnections(): void {
    const { core } = this
    core.learners.hasLost = false
    if (core.isOver || !this.isEstablished) return
    const connected = new Set<ServerId>([core.self])
    for (const learner of core.learners.led) {
      if (learner.hasReached('synchronizing') && !learner.isObserver) connected.add(learner.sid)
    }
    if (!core.parts.configs.verifier.isQuorum(connected)) {
      core.end(new LinkLostError('the connections to a quorum of followers are lost'))
    }
  }

  // --- what learners say -------------------------------------------------------------------------

  /** A malformed packet costs the learner its connection, nothing else. */
  private takePacket(learner: LearnerProgress, packet: QuorumPacket): void {
    const isJoining = !learner.hasReached('promised')
    try {
      if (isJoining) this.takeJoiningPacket(learner, packet)
      else this.receive(learner, packet)
    } catch (error) {
      if (!isPeerFault(error)) throw error
      if (isJoining) this.core.learners.refuse(learner, error)
      else this.core.learners.close(learner)
    }
  }

  private takeJoiningPacket(learner: LearnerProgress, packet: QuorumPacket): void {
    const { core, admission } = this
    if (learner.state === 'connected') {
      let promised = 0n
      this.join(() => {
        promised = admission.introduce(learner, packet)
      })
      this.handOver.beginEpochFor(learner.sid, promised)
      if (core.isOver) return
      if (this.phase !== 'choosingEpoch' && this.phase !== 'promising') admission.ask(learner)
    } else if (learner.state === 'asked') {
      admission.promise(learner, packet)
      this.checkPromises()
    }
  }

  private receive(learner: LearnerProgress, packet: QuorumPacket): void {
    learner.deadlineTick = this.core.tick + this.core.options.syncLimit
    switch (packet.type) {
      case packetTypes.ack:
        this.receiveAck(learner, packet.zxid)
        return
      case packetTypes.ping:
        this.touchSessions(packet.data)
        if (this.certainty.answered(learner)) this.confirmed()
        return
      case packetTypes.revalidate:
        this.revalidate(learner, packet)
        return
      case packetTypes.request:
        this.receiveRequest(learner, packet)
        return
      case packetTypes.treeDiffers:
        this.objected(learner, packet)
        return
      default:
    }
  }

  private receiveAck(learner: LearnerProgress, zxid: bigint): void {
    const { core } = this
    if (counterOf(zxid) !== 0n) {
      this.hasAcks = true
      learner.acks.acknowledged(zxid)
      if (!learner.isObserver) this.broadcast.acknowledge(learner.sid, zxid)
      return
    }
    if (zxid !== epochStart(this.epoch)) return
    if (learner.state !== 'sent') {
      if (learner.state === 'upToDate') learner.become('following')
      return
    }
    learner.become('acknowledged')
    const wasEstablished = this.isEstablished
    if (!learner.isObserver) this.acknowledgeNewLeader(learner.sid)
    if (!wasEstablished) return
    core.learners.sendUpToDate(learner)
    this.certainty.joined(learner)
  }

  /** A follower computed another digest. If a quorum computed the same one, this server is wrong. */
  private objected({ sid, isObserver }: LearnerProgress, { zxid, data }: QuorumPacket): void {
    if (isObserver || !this.isEstablished) return
    const digest = new Reader(data ?? new Uint8Array(0)).long()
    const agreeing = this.objections.add(sid, zxid, digest)
    this.core.parts.trace({ type: 'treeDoubted', sid, zxid })
    if (this.core.parts.configs.verifier.isQuorum(agreeing)) this.core.ready.outvoted = true
  }

  /** A quorum has answered a round of pings. */
  private confirmed(): void {
    this.certainty.confirmed()
    this.advanceCommit()
  }

  private advanceCommit(): void {
    this.hasAcks = false
    this.broadcast.advanceCommit()
    if (this.core.isFinishing) this.handOver.proceed()
  }

  private touchSessions(data: Uint8Array | null): void {
    if (data !== null && data.length > 0) this.ask({ type: 'touch', sessions: new Reader(data) })
  }

  private revalidate(from: LearnerProgress, { zxid, data }: QuorumPacket): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const timeoutMs = reader.int()
    this.ask({ type: 'revalidate', from, zxid, sessionId, timeoutMs })
  }

  private revalidated({
    learner,
    zxid,
    sessionId,
    isValid,
  }: Extract<LeaderInput, { type: 'revalidated' }>): void {
    if (learner.state === 'gone') return
    const writer = new Writer(16)
    writer.long(sessionId)
    writer.bool(isValid)
    const answer = packetOf('revalidate', zxid, writer.written())
    // A follower was sent all that was proposed for the session elsewhere, an observer was not: it
    // would take the answer to that for one to what it asks for itself.
    if (learner.isObserver) this.broadcast.tellAfterCommit(learner, answer)
    else this.core.learners.send(learner, answer)
  }

  private receiveRequest(from: LearnerProgress, { data, authinfo }: QuorumPacket): void {
    from.requests++
    // A leader that is about to step down does not answer: the learner asks the next leader.
    if (!this.isEstablished || this.core.isFinishing) return
    const body = new Reader(data ?? new Uint8Array(0))
    const sessionId = body.long()
    const xid = body.int()
    const code = body.int()
    if (code === codes.createSession) {
      this.ask({ type: 'createSession', from, sessionId, timeoutMs: body.int() })
    } else if (code === codes.closeSession) {
      this.ask({ type: 'closeSession', from, sessionId, xid })
    } else if (code === codes.sync) {
      this.certainty.sync(from)
      this.certainty.answerSyncs()
    } else {
      const identities = authinfo ?? []
      this.ask({ type: 'write', from, sessionId, xid, code, identities, body })
    }
  }

  private ask(request: LearnerRequest): void {
    ;(this.core.ready.requests ??= []).push(request)
  }
}
