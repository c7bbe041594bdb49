import { encodeNotification, readNotification, type ServerState } from '@zabra/protocol'
import { AssertionError } from '../base/assert.ts'
import { Election, type Decision } from '../consensus/election/election.ts'
import { Links } from '../consensus/election/links.ts'
import type { Clock } from '../service/client-pipeline.ts'
import { LocalSessions, type GlobalUpstream } from '../service/sessions/local-sessions.ts'
import { NoQuorum } from '../service/no-quorum.ts'
import { Proposer } from '../service/proposer.ts'
import type { Upstream } from '../service/upstream.ts'
import { faultCode } from '../ports.ts'
import { serverIdOf } from '../service/sessions/session-ids.ts'
import { SessionTracker } from '../service/sessions/tracker.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import { RecoveryError } from '../storage/recovery/recovery-error.ts'
import type { RestoredDatabase } from '../storage/recovery/restored.ts'
import { TruncateError } from '../storage/log/truncate.ts'
import type { LoggedTxn } from '../storage/log/committed-log.ts'
import { MembershipState } from '../membership/membership-state.ts'
import { Deferred, within } from '../base/deferred.ts'
import { readHistory } from '../storage/log/committed-history.ts'
import { OlderEpochError } from '../consensus/zab/learner.ts'
import { changeBetween, sameMembership, type Membership } from '../membership/membership.ts'
import type { ZabEvent, ZabTrace } from '../consensus/zab/options.ts'
import type { ServerId } from '../membership/quorum.ts'
import { epochOf } from '../storage/zxid.ts'
import { readConfig, RoleChange } from '../consensus/zab/role-change.ts'
import { ZabStats } from '../consensus/zab/zab-stats.ts'
import { Dialler } from './dialler.ts'
import { Following } from './following.ts'
import type { PeerPort, EnsembleOptions, EnsembleParts, Leadership } from './ensemble-parts.ts'
import type { Journal } from './journal.ts'
import { Leading, type LeaderPort } from './leading.ts'
import { PacketLink, type PeerWire } from './links/packet-link.ts'
import { NoRoomError, LocalHistory } from './local-history.ts'
import { PeerBase } from './peer-base.ts'
import { Restoring } from './restoring.ts'
import { TakingObservers, type LeaderRelay } from './taking-observers.ts'

/** A server that has looked for a leader so long is cut off; at least a tick, though. */
const readOnlyAfterMsMin = 2000
/** Before looking again for a leader after one that could not be joined. */
const rejoinPauseMs = 100
/** The same where it was for want of room, at first; doubled each time, up to the second. */
const roomPauseMs = 500
const roomPauseMsMax = 8000

/**
 * A server of an ensemble: looks for a leader, leads or follows until that ends, and looks again.
 *
 * Between roles everything the log holds is applied, committed or not: what this server then
 * votes with is what a restart would read from its disk.
 */
export class EnsemblePeer extends PeerBase {
  state: ServerState = 'looking'
  /** Set right after construction: the two need each other. */
  journal!: Journal
  readonly zabStats = new ZabStats()
  private leadingSinceMs = 0
  private readonly parts: EnsembleParts
  private readonly tell: ZabTrace
  private readonly options: EnsembleOptions
  private readonly configs: MembershipState
  private readonly election: Election
  private readonly links: Links
  private readonly noSessions: SessionTracker
  private readonly history: LocalHistory
  private readonly dialler: Dialler
  private readonly restoring: Restoring
  private leader: Leading | undefined
  private following: Following | undefined
  private proposer: Proposer | undefined
  private decided: Deferred<Decision> | undefined
  /** A change of configuration has named the leader of our next role. */
  private appointed: ServerId | undefined
  private lookingSinceMs = 0
  private local: LocalSessions | undefined
  private lastHalfTickMs = 0
  private readonly stopped = new Deferred<never>()
  private isStopped = false
  private isFull = false
  /** What the leader wanted cut off could not be: next time it must send everything. */
  private wantsEverything = false
  /** The last leader's epoch was older than one that we had promised. */
  private hasPromisedNewer = false
  private lacksData: boolean
  private hasServed = false
  /** Whom to vote for in the next election, where it is not us. */
  private successor: ServerId | undefined
  /** Set by `handOver`: resolves when this server serves again. */
  private nextLeader: Deferred<ServerId> | undefined
  /** How long to wait before trying again with a disk that was full when we last tried to join. */
  private roomPauseMs = 0

  constructor(parts: EnsembleParts, options: EnsembleOptions, start: Clock) {
    super(parts.db, options, parts.ports, start)
    this.parts = { ...parts, zabTrace: (event) => this.note(event) }
    this.tell = parts.zabTrace
    parts.committedLog.onAdded = ({ payload }) =>
      this.zabStats.committed(payload, this.state, this.clock.wallMs)
    this.options = options
    this.configs = new MembershipState(options.membership, {
      isEnabled: options.rules.reconfigEnabled,
      store: parts.configStore,
      onChange: (before) => this.configChanged(before),
      onSaveFailed: ({ message }) => parts.zabTrace({ type: 'configNotSaved', reason: message }),
    })
    this.election = new Election({
      self: options.self,
      config: { committed: options.membership },
      reconfigEnabled: options.rules.reconfigEnabled,
      ...(options.electionTiming === undefined ? {} : { timing: options.electionTiming }),
      isGone: (server) => this.links.isGone(server),
    })
    this.links = new Links({
      self: options.self,
      addresses: options.electionAddresses,
      onCrowded: () => this.note({ type: 'crowded', port: 'election' }),
    })
    this.noSessions = new SessionTracker(options.tickMs)
    this.history = new LocalHistory({
      ...parts,
      batch: () => this.batch,
      journal: () => this.journal,
    })
    this.dialler = new Dialler(
      {
        ...parts,
        nowMs: () => this.clock.nowMs,
        voters: () => this.configs.verifier.voters,
        isStopped: () => this.isStopped,
      },
      options,
    )
    this.restoring = new Restoring(
      {
        ...parts,
        history: this.history,
        configs: this.configs,
        leader: () => this.leader,
        canWrite: () => this.canWrite,
        stopServing: () => this.stopServing(),
      },
      2 * options.tickMs * options.initLimit,
    )
    this.wantsEverything = this.lacksData = parts.lacksData === true
    this.seeWhatIsLogged()
  }

  // --- for monitoring --------------------------------------------------------------------------

  private note(event: ZabEvent): void {
    this.zabStats.note(event, this.state, this.clock.nowMs)
    if (event.type === 'crowded') this.stats.limitsReached.peer_connections++
    this.tell(event)
  }

  /** Its learners and its age, while this server leads. */
  get leadership(): Leadership | undefined {
    const { leader, clock, leadingSinceMs } = this
    if (leader?.leader.isEstablished !== true) return undefined
    return {
      learners: leader.learnerViews,
      pendingSyncs: leader.leader.pendingSyncs,
      uptimeMs: clock.nowMs - leadingSinceMs,
      resetObserverCounts: () => leader.resetObserverCounts(),
    }
  }

  // --- the course of a server ------------------------------------------------------------------

  /** Resolves after `stop`; rejects when this server cannot go on. */
  async run(): Promise<void> {
    try {
      while (!this.isStopped) await this.playRole(this.takeAppointment() ?? (await this.elect()))
    } catch (error) {
      if (!this.isStopped) throw error
    }
  }

  private async playRole(decision: Decision): Promise<void> {
    this.hasServed = false
    let lacksRoom = false
    try {
      if (this.isStopped) return
      if (decision.state === 'leading') await this.lead()
      else await this.follow(decision)
    } catch (error) {
      this.parts.zabTrace({ type: 'roleEnded', reason: (error as Error).message })
      if (isFatal(error)) throw error
      if (error instanceof RoleChange) this.appointed = error.leader
      this.hasPromisedNewer = error instanceof OlderEpochError
      lacksRoom = error instanceof NoRoomError || faultCode(error) === 'ENOSPC'
    } finally {
      this.stopServing()
      this.election.pause()
      this.state = 'looking'
    }
    // With a full disk this takes until there is room, and so long we do not vote.
    await this.leaveRole()
    const { reconnectDelayMs = 0 } = this.options
    if (decision.state === 'observing' && reconnectDelayMs > 0) {
      await this.pause(this.parts.host.random() * reconnectDelayMs)
    }
    if (lacksRoom) await this.untilRoom()
    else if (!this.hasServed && this.appointed === undefined) await this.pause(rejoinPauseMs)
  }

  /** A leader that cannot be joined, or a quorum that does not come, is not asked in a storm. */
  private async pause(ms: number): Promise<void> {
    const { done, cut } = this.parts.host.delay(ms)
    await Promise.race([done, this.stopped.promise]).finally(cut)
  }

  /**
   * Who has no room to promise an epoch can neither follow nor lead. If it voted it might be elected
   * for its long history, fail, and be elected again, without end.
   */
  private async untilRoom(): Promise<void> {
    if (!this.hasServed) {
      this.roomPauseMs = Math.min(Math.max(2 * this.roomPauseMs, roomPauseMs), roomPauseMsMax)
      await this.pause(this.roomPauseMs)
    }
    await this.readOnlyWhile(() => this.roomForPromises())
  }

  private async roomForPromises(): Promise<void> {
    const { epochs } = this.parts
    for (;;) {
      try {
        await epochs.setAccepted(epochs.accepted)
        return
      } catch (error) {
        if (faultCode(error) !== 'ENOSPC') throw error
        await this.pause(roomPauseMs)
      }
    }
  }

  /** Who waits for room has no part in anything, but what it knew before can still be read. */
  private async readOnlyWhile(waiting: () => Promise<void>): Promise<void> {
    if (this.options.readOnlyMode !== true) return waiting()
    this.parts.zabTrace({ type: 'readOnlyWhileFull' })
    this.serveReads()
    try {
      await waiting()
    } finally {
      this.stopServing()
    }
  }

  /**
   * To be awaited before `stop`, when clients are no longer read from: a leader commits what it has
   * proposed, so that who wrote it hears of it, and its successor lacks nothing of it.
   */
  async finish(): Promise<void> {
    await this.leader?.finish()
  }

  /**
   * Makes place for another leader, and follows it. Resolves when this server serves again, with who
   * leads now; with the reason where that does not come to be.
   */
  async handOver(): Promise<{ readonly leader: ServerId } | { readonly problem: string }> {
    const { leader } = this
    if (leader?.leader.isEstablished !== true) return { problem: 'this server does not lead' }
    if (leader.leader.successor(0n) === undefined) return { problem: 'no follower is up to date' }
    const reason = 'another server is to lead'
    this.parts.zabTrace({ type: 'handingOver', reason })
    await leader.finish()
    this.successor = leader.leader.successor()
    const next = (this.nextLeader = new Deferred())
    leader.end(new Error(reason))
    const limitMs = this.options.tickMs * this.options.initLimit
    try {
      return { leader: await within(this.parts.host, limitMs, 'a leader', next.promise) }
    } catch (error) {
      return { problem: (error as Error).message }
    }
  }

  /** Ends the present role; `run` resolves. */
  stop(): void {
    this.isStopped = true
    const reason = new Error('this server is being stopped')
    this.leader?.end(reason)
    this.following?.end(reason)
    this.decided?.reject(reason)
    this.nextLeader?.reject(reason)
    this.stopped.reject(reason)
    this.restoring.stop(reason)
    this.history.stop(reason)
  }

  /** The role that a change of configuration has left us, if any. */
  private takeAppointment(): Decision | undefined {
    const leader = this.appointed
    this.appointed = undefined
    if (leader === undefined) return undefined
    const { db, epochs, zabTrace } = this.parts
    const decision = this.election.appoint({
      leader,
      zxid: db.lastZxid,
      peerEpoch: epochs.current,
    })
    this.state = decision.state
    zabTrace({ type: 'appointed', leader })
    return decision
  }

  private async elect(): Promise<Decision> {
    this.state = 'looking'
    this.parts.zabTrace({ type: 'looking' })
    this.decided = new Deferred()
    this.lookingSinceMs = this.clock.nowMs
    this.startElection()
    this.pump()
    try {
      const decision = await this.decided.promise
      this.state = decision.state
      this.parts.zabTrace({ type: 'elected', leader: decision.leader })
      return decision
    } finally {
      this.decided = undefined
      this.stopServing()
    }
  }

  private startElection(): void {
    const { db, epochs } = this.parts
    const { successor } = this
    this.successor = undefined
    // As in Apache this means that it has no say.
    const zxid = this.lacksData ? -1n : db.lastZxid
    this.election.start({ zxid, peerEpoch: epochs.current }, this.clock.nowMs, successor)
  }

  /** Who can do with what was known before this server was cut off is served that. */
  private serveReadOnly(afterMs: number): void {
    this.parts.zabTrace({ type: 'readOnly', afterMs })
    this.serveReads()
  }

  private serveReads(): void {
    this.showConfig()
    this.pipeline.upstream = this.keepingLocal(new NoQuorum(this.pipeline), false)
  }

  private keepingLocal(global: GlobalUpstream, upgrading: boolean): LocalSessions {
    const { pipeline, clock } = this
    const { tickMs } = this.options
    const { trace } = this.parts.ports
    this.local = new LocalSessions({ global, pipeline, clock, trace }, { tickMs, upgrading })
    return this.local
  }

  private upstreamTo(global: GlobalUpstream): Upstream {
    const { localSessions } = this.options
    return localSessions === undefined ? global : this.keepingLocal(global, localSessions.upgrading)
  }

  /** Sessions that only this server knew end with the role, as in Apache. */
  private stopServing(): void {
    this.local = undefined
    this.pipeline.takesClients = true
    this.pipeline.stopServing()
  }

  private async lead(): Promise<void> {
    if (this.lacksData)
      throw new Error('no server that was elected has the data that should be here')
    const { epochs, db, committedLog, host, network, zabTrace, disk, recovery } = this.parts
    const { self, snapshotSizeFactor } = this.options
    const { configs } = this
    this.leader = new Leading(
      {
        self,
        configs,
        epochs,
        db,
        committedLog,
        readHistory: (after, before) =>
          readHistory(disk, recovery, after, before, snapshotSizeFactor),
        host,
        nowMs: () => this.clock.nowMs,
        trace: zabTrace,
        serve: (from) => this.serveAsLeader(from),
        synced: (ticket) => this.pipeline.synced(ticket),
        hold: (isOn) => this.pipeline.hold(isOn),
        joined: (sid) => this.election.joined(sid),
        revalidated: () => this.zabStats.revalidations++,
      },
      this.options,
    )
    network.listen(true)
    try {
      await this.leader.run()
    } finally {
      network.listen(false)
    }
  }

  private serveAsLeader(from: LeaderPort): Proposer {
    const { pipeline, clock } = this
    const { trace } = this.parts.ports
    // Sessions have all their time from now on, and not from before the disk was waited for.
    const { host } = this.parts
    this.setTime(Math.floor(host.monotonicMs()), host.wallMs())
    this.showConfig()
    this.election.established(this.leader!.leader.epoch)
    this.leadingSinceMs = this.clock.nowMs
    this.hasServed = true
    this.roomPauseMs = 0
    this.wantsEverything = false
    this.proposer = new Proposer(
      {
        pipeline,
        clock,
        trace,
        batch: () => this.batch,
        lastZxid: from.lastZxid,
        mayPropose: (zxid) => !this.restoring.isReplacing && from.mayPropose(zxid),
        mayBeLocal: (id) => this.mayBeLocalElsewhere(id),
        reconfiguring: from.reconfiguring,
        confirm: from.confirm,
        allRead: from.allRead,
        onProposed: (zxid, batch) => {
          this.history.appendedZxid = zxid
          const bytes = batch.writer.position - 1 - batch.payloadStart
          this.zabStats.proposed(bytes, this.clock.wallMs)
          from.onProposed(zxid, batch)
          this.parts.wake()
        },
      },
      this.options,
    )
    pipeline.takesClients = this.options.leaderServes !== false
    pipeline.upstream = this.upstreamTo(this.proposer)
    this.restoring.leads()
    this.proposer.dropOrphans()
    this.nextLeader?.resolve(this.options.self)
    return this.proposer
  }

  private mayBeLocalElsewhere(sessionId: bigint): boolean {
    const { localSessions, serverId } = this.options
    return localSessions !== undefined && serverIdOf(sessionId) !== (serverId & 0xff)
  }

  private async follow(decision: Decision): Promise<void> {
    const { self } = this.options
    const { epochs, db, committedLog, zabTrace } = this.parts
    const { wantsEverything, configs } = this
    const dialling = this.dialler.reachMaster(decision, this.hasPromisedNewer)
    const reached = Promise.race([dialling, this.stopped.promise]).catch((error: unknown) => {
      dialling.then((late) => late.link.close()).catch(() => {})
      throw error
    })
    const { link, master } = await reached
    this.following = new Following(
      {
        self,
        leader: master,
        elected: decision.leader,
        isObserver: decision.state === 'observing',
        epochs,
        db,
        pipeline: this.pipeline,
        committedLog,
        configs,
        wantsEverything,
        lacksData: this.lacksData,
        nowMs: () => this.clock.nowMs,
        trace: zabTrace,
        append: (txn) => this.append(txn),
        flush: () => this.flush(),
        loadFrom: (from, zxid) => this.history.loadFrom(from, zxid),
        truncate: (zxid) => this.truncate(zxid),
        takeSnapshot: () => this.history.takeSnapshot(),
        abandonSnapshot: () => this.journal.abandonSnapshot(),
        serving: (epoch) => {
          this.showConfig()
          this.election.established(epoch)
          this.hasServed = true
          this.roomPauseMs = 0
          this.wantsEverything = this.lacksData = false
          void this.parts.log.releaseExtent()
          this.nextLeader?.resolve(decision.leader)
          this.restoring.follows()
        },
        takeObservers: (epoch, relay) =>
          decision.state === 'following' ? this.takeObservers(epoch, relay) : undefined,
        behind: (upstream) => this.upstreamTo(upstream),
      },
      this.options,
      link,
    )
    try {
      await this.following.run()
    } finally {
      if (this.following.observers !== undefined) this.parts.network.listen(false, 'observers')
    }
  }

  /** Where followers do so, observers may come from now on. */
  private takeObservers(epoch: bigint, up: LeaderRelay): TakingObservers | undefined {
    const { observerMaster, self } = this.options
    if (observerMaster === undefined) return undefined
    const { db, committedLog, host, zabTrace, network } = this.parts
    const observers = new TakingObservers(
      {
        self,
        epoch,
        db,
        committedLog,
        configs: this.configs,
        host,
        nowMs: () => this.clock.nowMs,
        trace: zabTrace,
        up,
        sessionLeft: (id) => this.pipeline.sessionLeft(id),
        queueBytesMax: observerMaster.queueBytesMax,
      },
      this.options,
    )
    network.listen(true, 'observers')
    return observers
  }

  /** Applies everything the log holds, or goes back to what the disk holds. */
  private async leaveRole(): Promise<void> {
    const { leader } = this
    const learner = this.following?.learner
    this.leader = this.following = this.proposer = undefined
    await this.restoring.roleEnded()
    if (this.isStopped) return
    const isWhole = learner?.memoryDiffersFromDisk !== true
    if (this.isFull && isWhole) await this.readOnlyWhile(() => this.flush())
    else await this.flush()
    if (learner?.memoryDiffersFromDisk === true) {
      await this.journal.undisturbed(() => this.history.reload())
      this.seeWhatIsLogged()
      return
    }
    const uncommitted = leader?.leader.uncommitted ?? learner?.uncommitted ?? []
    // What may yet be cut off again must not be in a snapshot whose name does not tell.
    if (uncommitted.length > 0) this.journal.abandonSnapshot()
    for (const txn of uncommitted) this.history.apply(txn)
    this.seeWhatIsLogged()
  }

  /** See `Restoring`. */
  override restore(restored: RestoredDatabase, journal: Journal): Promise<void> {
    return this.restoring.restore(restored, journal)
  }

  // --- the members -----------------------------------------------------------------------------

  /**
   * Whatever change of configuration our log holds may have been committed with our help: we know of
   * it as surely as of the log. One that was cut off from the log was never committed.
   */
  private seeWhatIsLogged(): void {
    const { configs, db } = this
    if (!configs.isEnabled) return
    const newest = readConfig(db.configText ?? nothing)
    configs.setLogged(newest, newest && this.committedByHistory(newest))
  }

  /**
   * The newest configuration that our history proves to be committed, though its file may not say
   * so. Another one is proposed only once the one before is committed. A leader completes what came
   * before its epoch before it proposes anything. And where the newest was applied on top of itself,
   * a finished snapshot held it beyond its name, as it holds nothing that is not committed.
   */
  private committedByHistory(newest: Membership): Membership | undefined {
    const { configBefore, lastTxnZxid } = this.db
    if (epochOf(lastTxnZxid) > epochOf(newest.version)) return newest
    const before = configBefore && readConfig(configBefore)
    return before !== undefined && before.version <= newest.version ? before : undefined
  }

  /** What clients read of it, unless what the log holds is newer already. */
  private showConfig(): void {
    const { committed, committedText, seen } = this.configs
    if (seen === undefined || seen.version > this.db.lastZxid) {
      this.db.setConfig(committedText, committed.version, this.clock.wallMs)
    }
  }

  /** The members, as far as this server knows that they are committed. */
  get config(): Membership {
    return this.configs.committed
  }

  /** Resolves when what is known of the members is in its files. */
  get configSaved(): Promise<void> {
    return this.configs.saved
  }

  private configChanged(before: Pick<MembershipState, 'committed' | 'seen'>): void {
    const { committed, seen } = this.configs
    this.election.reconfigure({ committed, lastSeen: seen })
    this.parts.network.reconfigure(committed, seen)
    const addresses = committed.servers.get(this.options.self)?.addresses
    if (addresses !== undefined) {
      this.links.moved(addresses.map(({ host, electionPort }) => `${host}:${electionPort}`))
    }
    this.traceChange(before)
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

  /**
   * Another server knows what has been committed while we were not there. Whether the election has
   * to begin anew, with others.
   */
  private adopt(config: Membership): boolean {
    const isOther = !sameMembership(config, this.configs.committed)
    if (!this.configs.commit(config) || !isOther || this.decided === undefined) return false
    this.startElection()
    return true
  }

  /** Others have logged a change of which we have not heard, and in which we have a vote. */
  private adoptProposedConfig(config: Membership): boolean {
    this.configs.see(config)
    if (this.configs.seen?.version !== config.version || this.decided === undefined) return false
    this.startElection()
    return true
  }

  // --- what a learner asks for -----------------------------------------------------------------

  private append(txn: LoggedTxn): void {
    this.history.append(txn)
    this.zabStats.received(txn.payload, this.state, this.clock.wallMs)
  }

  /** Resolves when everything appended so far is durable. */
  override flush(): Promise<void> {
    return this.history.flush()
  }

  private async truncate(zxid: bigint): Promise<void> {
    try {
      await this.history.truncate(zxid)
      this.seeWhatIsLogged()
    } catch (error) {
      if (error instanceof TruncateError) this.wantsEverything = true
      throw error
    }
  }

  // --- from the host ---------------------------------------------------------------------------

  override logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    this.giveBack(batch)
    this.zabStats.logged(this.clock.wallMs)
    this.leader?.logged(upTo)
    this.following?.logged(upTo)
    this.history.logged(upTo)
  }

  override setTime(nowMs: number, wallMs: number): void {
    const beforeMs = this.clock.nowMs
    super.setTime(nowMs, wallMs)
    this.leader?.passed(beforeMs, nowMs)
  }

  override tick(): void {
    super.tick()
    const { nowMs } = this.clock
    this.zabStats.tick(nowMs)
    this.tickWithoutLeader()
    this.election.tick(nowMs)
    this.pump()
    this.leader?.tick()
    this.following?.tick()
    this.local?.tick()
    if (nowMs - this.lastHalfTickMs >= this.options.tickMs / 2) {
      this.lastHalfTickMs = nowMs
      this.leader?.halfTick()
      this.following?.observers?.halfTick()
    }
    this.proposer?.tick()
  }

  private tickWithoutLeader(): void {
    const { readOnlyMode, tickMs } = this.options
    if (readOnlyMode !== true || this.decided === undefined || this.isServing) return
    const afterMs = Math.max(readOnlyAfterMsMin, tickMs)
    if (this.clock.nowMs - this.lookingSinceMs >= afterMs) this.serveReadOnly(afterMs)
  }

  /** A server has come to be led by us, or to observe what we follow. */
  acceptLearner(wire: PeerWire, door: PeerPort = 'quorum'): PacketLink {
    const link = new PacketLink(wire, this.clock.nowMs, this.options.rules.txnBytesMax)
    const master = door === 'quorum' ? this.leader : this.following?.observers
    if (master === undefined) link.close()
    else master.accept(link)
    return link
  }

  /** Something happened on the election port; `tell` passes it on. */
  electionInput(tell: (links: Links) => void): void {
    tell(this.links)
    this.election.reachabilityChanged(this.clock.nowMs)
    this.pump()
  }

  /** Passes messages between the election, its connections, and the host. */
  private pump(): void {
    for (let isBusy = true; isBusy;) {
      const { send, decision, newerConfig, proposedConfig } = this.election.takeReady()
      const isBegunAnew =
        (newerConfig !== undefined && this.adopt(newerConfig)) ||
        (proposedConfig !== undefined && this.adoptProposedConfig(proposedConfig))
      isBusy = isBegunAnew
      for (const { to, notification } of send) this.links.send(to, encodeNotification(notification))
      for (const action of this.links.takeActions()) {
        isBusy = true
        if (action.type !== 'message') {
          this.parts.network.perform(action)
          continue
        }
        const notification = readNotification(action.payload)
        if (notification !== undefined) {
          this.election.receive(action.from, notification, this.clock.nowMs)
        }
      }
      if (decision !== undefined && !isBegunAnew) this.decided?.resolve(decision)
    }
    // Not to wait in vain, for as long as `initLimit` allows, while the others serve without us.
    if (this.leader?.leader.isEstablished === false && this.election.isDeserted) {
      this.zabStats.desertions++
      this.leader.end(new Error('the others want another leader'))
    }
  }

  override get sessions(): SessionTracker {
    return this.proposer?.sessions ?? this.noSessions
  }

  override get canWrite(): boolean {
    return !this.isFull
  }

  /**
   * Who cannot log what is proposed is of no use to the others, and what it would have to remember
   * meanwhile has no bound. So it leaves them; a leader that does so makes place for one with room.
   */
  protected override setCanWrite(canWrite: boolean): void {
    this.isFull = !canWrite
    if (canWrite) return
    const reason = new NoRoomError('there is no room on the disk for what is proposed')
    this.leader?.end(reason)
    this.following?.end(reason)
  }
}

const nothing = new Uint8Array(0)

/** What the next role would meet again, or must not be built upon: a failing disk, or a bug. */
function isFatal(error: unknown): boolean {
  if (error instanceof AssertionError || error instanceof RecoveryError) return true
  const code = faultCode(error)
  return code !== undefined && code !== 'ENOSPC'
}
