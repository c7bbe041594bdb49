import {
  encodeNotification,
  readNotification,
  Reader,
  TxnHeader,
  type ServerState,
} from '@zabra/protocol'
import { assert, AssertionError } from '../assert.ts'
import type { Database, DatabaseOptions } from '../database.ts'
import { Election, type Decision, type ElectionTiming } from '../election/election.ts'
import { Links, type LinkAction } from '../election/links.ts'
import type { Clock } from '../pipeline/client-pipeline.ts'
import { LocalSessions, type GlobalUpstream } from '../pipeline/local-sessions.ts'
import { NoQuorum } from '../pipeline/no-quorum.ts'
import { Proposer } from '../pipeline/proposer.ts'
import type { Upstream } from '../pipeline/upstream.ts'
import { faultCode, type Disk, type Host } from '../ports.ts'
import { serverIdOf } from '../session/session-ids.ts'
import { SessionTracker } from '../session/tracker.ts'
import { forgetAllBut } from '../storage/forget.ts'
import { loadDatabase, LoadingDatabase } from '../storage/load.ts'
import type { LogBatch } from '../storage/log-batch.ts'
import { RecoveryError } from '../storage/recovery-error.ts'
import type { RecoveryOptions } from '../storage/recovery.ts'
import type { RestoredDatabase } from '../storage/restored.ts'
import { truncateAfter, TruncateError } from '../storage/truncate.ts'
import type { TxnLog } from '../storage/txn-log.ts'
import { CommittedLog, type LoggedTxn } from '../zab/committed-log.ts'
import { decodeTxn } from '../zab/decoded-txn.ts'
import { Deferred, within } from '../zab/deferred.ts'
import { dialPauses } from '../zab/dial-pauses.ts'
import { epochOf, type Epochs } from '../zab/epochs.ts'
import { readHistory } from '../zab/history.ts'
import { Leader, type LeaderParts, type LearnerView } from '../zab/leader.ts'
import { Learner } from '../zab/learner.ts'
import { ConfigBook, type ConfigStore } from '../zab/config-book.ts'
import { changeBetween, sameMembership, type Membership } from '../zab/membership.ts'
import { ObserverMaster } from '../zab/observer-master.ts'
import type { ZabEvent, ZabOptions, ZabTrace } from '../zab/options.ts'
import { LinkLostError, PacketLink, type PeerWire } from '../zab/packet-link.ts'
import type { ServerId } from '../zab/quorum.ts'
import { readConfig, RoleChange } from '../zab/role-change.ts'
import { ZabStats } from '../zab/zab-stats.ts'
import { receiveSnapshot } from '../zab/snapshot-stream.ts'
import type { Journal } from './journal.ts'
import { PeerBase, renamed, RestoreRefusal, type PeerOptions, type PeerPorts } from './peer-base.ts'

/** Where learners come in: the leader's quorum port, or where followers take observers. */
export type Door = 'quorum' | 'observers'

/** The network between servers, as the host provides it. */
export interface PeerNetwork {
  /** Connects to a server. Bytes that come go to the link's `received`. */
  dial(server: ServerId, attach: (wire: PeerWire) => PacketLink, door?: Door): Promise<PacketLink>
  /** Whether learners can connect here; each one goes to `acceptLearner`. */
  listen(isOn: boolean, door?: Door): void
  /** Where the members are from now on; of a change under way both places are known. */
  reconfigure(committed: Membership, seen: Membership | undefined): void
  /** Carries out what the election's connections ask for; `message` never comes here. */
  perform(action: Exclude<LinkAction, { type: 'message' }>): void
}

export interface EnsembleParts {
  readonly db: Database
  /** Nothing was found where data should be: what this server holds counts for nothing. */
  readonly lacksAll?: boolean
  readonly databaseOptions: DatabaseOptions
  readonly recovery: RecoveryOptions
  readonly disk: Disk
  readonly log: TxnLog
  readonly epochs: Epochs
  readonly committedLog: CommittedLog
  readonly host: Host
  readonly network: PeerNetwork
  /** Where the members are kept; left out, only in memory. */
  readonly configStore?: ConfigStore | undefined
  readonly zabTrace: ZabTrace
  readonly ports: PeerPorts
  /** There is something to be logged. */
  readonly wake: () => void
}

export interface EnsembleOptions extends PeerOptions, ZabOptions {
  readonly self: ServerId
  readonly membership: Membership
  /** Where the others reach our election port. */
  readonly electionAddresses: readonly string[]
  readonly electionTiming?: Partial<ElectionTiming>
  /** Sessions begin as known to this server alone; left out, they are global at once. */
  readonly localSessions?: { readonly upgrading: boolean } | undefined
  /** Followers take observers; what may wait for one of them before it is dropped. */
  readonly observerMaster?: { readonly queueBytesMax: number } | undefined
  /** Whether reads are served while no leader is found. */
  readonly readOnlyMode?: boolean
  /** Whether a leader takes clients; it does unless told. */
  readonly leaderServes?: boolean
  /** An observer that has lost its leader waits up to this, by chance, before it looks again. */
  readonly reconnectDelayMs?: number
  /** The longest pause between attempts to reach a leader. */
  readonly dialPauseMs?: number
  /** How long all of them may take, in ticks; as long as joining it unless told. */
  readonly dialLimit?: number
}

/** What a leader tells of itself. */
export interface Leadership {
  readonly learners: readonly LearnerView[]
  readonly pendingSyncs: number
  readonly uptimeMs: number
  resetObserverCounts(): void
}

/** A server that has looked for a leader so long is cut off; at least a tick, though. */
const readOnlyAfterMsMin = 2000
/** Before looking again for a leader after one that could not be joined. */
const rejoinPauseMs = 100
/** The same where it was for want of room, at first; doubled each time, up to the second. */
const roomPauseMs = 500
const roomPauseMsMax = 8000
const overtaken = 'another server was elected, and nothing is restored: ask that one'

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
  private readonly configs: ConfigBook
  private readonly election: Election
  private readonly links: Links
  private readonly noSessions: SessionTracker
  private leader: Leader | undefined
  private learner: Learner | undefined
  private proposer: Proposer | undefined
  private decided: Deferred<Decision> | undefined
  /** A change of configuration has named the leader of our next role. */
  private appointed: ServerId | undefined
  private lookingSinceMs = 0
  private local: LocalSessions | undefined
  private appendedZxid = 0n
  private loggedZxid = 0n
  private readonly flushing: { upTo: bigint; done: Deferred<void> }[] = []
  private lastHalfTickMs = 0
  private readonly stopped = new Deferred<never>()
  private isStopped = false
  private isFull = false
  /** What the leader wanted cut off could not be: next time it must send everything. */
  private wantsEverything = false
  private lacksAll: boolean
  private hasServed = false
  /** Whom to vote for in the next election, where it is not us. */
  private successor: ServerId | undefined
  /** Set by `handOver`: resolves when this server serves again. */
  private nextLeader: Deferred<ServerId> | undefined
  /** How long to wait before trying again with a disk that was full when we last tried to join. */
  private roomPauseMs = 0
  /** Under way while another database takes the place of ours: nothing is proposed meanwhile. */
  private replacing: Promise<void> | undefined
  /** Settled by whoever is elected after we gave up our office. */
  private leadingAgain: Deferred<void> | undefined

  constructor(parts: EnsembleParts, options: EnsembleOptions, start: Clock) {
    super(parts.db, options, parts.ports, start)
    this.parts = { ...parts, zabTrace: (event) => this.note(event) }
    this.tell = parts.zabTrace
    parts.committedLog.onAdded = ({ payload }) =>
      this.zabStats.committed(payload, this.state, this.clock.wallMs)
    this.options = options
    this.configs = new ConfigBook(options.membership, {
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
    this.links = new Links({ self: options.self, addresses: options.electionAddresses })
    this.noSessions = new SessionTracker(options.tickMs)
    this.loggedZxid = this.appendedZxid = parts.db.lastZxid
    this.wantsEverything = this.lacksAll = parts.lacksAll === true
    this.seeWhatIsLogged()
  }

  // --- for monitoring --------------------------------------------------------------------------

  private note(event: ZabEvent): void {
    this.zabStats.note(event, this.state, this.clock.nowMs)
    this.tell(event)
  }

  /** Its learners and its age, while this server leads. */
  get leadership(): Leadership | undefined {
    const { leader, clock, leadingSinceMs } = this
    if (leader?.isEstablished !== true) return undefined
    return {
      learners: leader.learnerViews,
      pendingSyncs: leader.pendingSyncs,
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
    if (leader?.isEstablished !== true) return { problem: 'this server does not lead' }
    if (leader.successor(0n) === undefined) return { problem: 'no follower is up to date' }
    const reason = 'another server is to lead'
    this.parts.zabTrace({ type: 'handingOver', reason })
    await leader.finish()
    this.successor = leader.successor()
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
    this.learner?.end(reason)
    this.decided?.reject(reason)
    this.nextLeader?.reject(reason)
    this.stopped.reject(reason)
    this.leadingAgain?.reject(reason)
    // Whether the log still gets anywhere is not known here; nobody votes with it any more.
    for (const { done } of this.flushing.splice(0)) done.reject(reason)
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
    const zxid = this.lacksAll ? -1n : db.lastZxid
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
    if (this.lacksAll)
      throw new Error('no server that was elected has the data that should be here')
    const { epochs, db, committedLog, host, network, zabTrace, disk, recovery } = this.parts
    const { self, snapshotSizeFactor } = this.options
    const { configs } = this
    this.leader = new Leader(
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
        joined: (sid) => this.election.joined(sid),
        revalidated: () => this.zabStats.revalidations++,
      },
      this.options,
    )
    network.listen(true)
    try {
      await this.leader.lead()
    } finally {
      network.listen(false)
    }
  }

  private serveAsLeader(from: Parameters<LeaderParts['serve']>[0]): Proposer {
    const { pipeline, clock } = this
    const { trace } = this.parts.ports
    // Sessions have all their time from now on, and not from before the disk was waited for.
    const { host } = this.parts
    this.setTime(Math.floor(host.monotonicMs()), host.wallMs())
    this.showConfig()
    this.election.established(this.leader!.epoch)
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
        mayPropose: (zxid) => this.replacing === undefined && from.mayPropose(zxid),
        mayBeLocal: (id) => this.mayBeLocalElsewhere(id),
        reconfiguring: from.reconfiguring,
        onProposed: (zxid, batch) => {
          this.appendedZxid = zxid
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
    this.leadingAgain?.resolve()
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
    const dialling = this.dialMaster(decision)
    const reached = Promise.race([dialling, this.stopped.promise]).catch((error: unknown) => {
      dialling.then((late) => late.link.close()).catch(() => {})
      throw error
    })
    const { link, master } = await reached
    this.learner = new Learner(
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
        nowMs: () => this.clock.nowMs,
        trace: zabTrace,
        append: (txn) => this.append(txn),
        flush: () => this.flush(),
        loadFrom: (from, zxid) => this.loadFrom(from, zxid),
        truncate: (zxid) => this.truncate(zxid),
        takeSnapshot: () => this.takeSnapshot(),
        serving: (epoch) => {
          this.showConfig()
          this.election.established(epoch)
          this.hasServed = true
          this.roomPauseMs = 0
          this.wantsEverything = this.lacksAll = false
          this.nextLeader?.resolve(decision.leader)
          this.leadingAgain?.reject(new RestoreRefusal(overtaken))
          if (decision.state === 'following') this.takeObservers(epoch)
        },
        behind: (learner) => this.upstreamTo(learner),
      },
      this.options,
      link,
    )
    try {
      await this.learner.follow()
    } finally {
      if (this.learner.observers !== undefined) this.parts.network.listen(false, 'observers')
    }
  }

  /** Where followers do so, observers may come from now on. */
  private takeObservers(epoch: bigint): void {
    const { observerMaster, self } = this.options
    const learner = this.learner!
    if (observerMaster === undefined) return
    const { db, committedLog, host, zabTrace, network } = this.parts
    learner.observers = new ObserverMaster(
      {
        self,
        epoch,
        db,
        committedLog,
        configs: this.configs,
        host,
        trace: zabTrace,
        up: learner,
        sessionLeft: (id) => this.pipeline.sessionLeft(id),
        queueBytesMax: observerMaster.queueBytesMax,
      },
      this.options,
    )
    network.listen(true, 'observers')
  }

  /**
   * Who has a vote goes to the leader. Observers go to any of the followers where those take them,
   * so that the leader has less to do, and to the leader where none can be reached.
   */
  private async dialMaster(decision: Decision): Promise<{ link: PacketLink; master: ServerId }> {
    const { leader, state } = decision
    const { host } = this.parts
    const followers = [...this.configs.verifier.voters].filter((id) => id !== leader)
    if (
      state === 'observing' &&
      this.options.observerMaster !== undefined &&
      followers.length > 0
    ) {
      let next = Math.floor(host.random() * followers.length)
      // They may not be up to date with the leader yet, and then they take nobody.
      for (const pauseMs of dialPauses(this.options.dialPauseMs)) {
        const master = followers[next++ % followers.length]!
        const link = await this.dialOnce(master, 'observers').catch(() => undefined)
        if (link !== undefined) return { link, master }
        if (this.isStopped) throw new LinkLostError('this server is being stopped')
        await host.delay(pauseMs).done
      }
    }
    return { link: await this.dialLeader(leader), master: leader }
  }

  private async dialOnce(server: ServerId, door: Door): Promise<PacketLink> {
    const { host, network } = this.parts
    const { tickMs, initLimit, dialLimit = initLimit } = this.options
    const attach = (wire: PeerWire): PacketLink => new PacketLink(wire, this.clock.nowMs)
    const dialling = network.dial(server, attach, door)
    try {
      return await within(host, tickMs * dialLimit, 'connecting to another server', dialling)
    } catch (error) {
      // Nobody waits any more for a connection that comes about late.
      dialling.then((link) => link.close()).catch(() => {})
      throw error
    }
  }

  private async dialLeader(leader: ServerId): Promise<PacketLink> {
    const { host } = this.parts
    const pausesMs = dialPauses(this.options.dialPauseMs)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.dialOnce(leader, 'quorum')
      } catch (error) {
        const pauseMs = pausesMs[attempt]
        if (pauseMs === undefined || this.isStopped) {
          throw new LinkLostError(`the leader cannot be reached: ${(error as Error).message}`)
        }
        await host.delay(pauseMs).done
      }
    }
  }

  /** Applies everything the log holds, or goes back to what the disk holds. */
  private async leaveRole(): Promise<void> {
    const { leader, learner } = this
    this.leader = this.learner = this.proposer = undefined
    // What is being restored is what we vote with, even if we have lost our office meanwhile.
    await this.replacing?.catch(() => {})
    this.replacing = undefined
    if (this.isStopped) return
    const isWhole = learner?.isTorn !== true
    if (this.isFull && isWhole) await this.readOnlyWhile(() => this.flush())
    else await this.flush()
    if (learner?.isTorn === true) {
      await this.journal.undisturbed(() => this.reload())
      this.seeWhatIsLogged()
      return
    }
    const uncommitted = leader?.uncommitted ?? learner?.uncommitted ?? []
    // What may yet be cut off again must not be in a snapshot whose name does not tell.
    if (uncommitted.length > 0) this.journal.abandonSnapshot()
    for (const txn of uncommitted) this.applyLogged(txn)
    this.seeWhatIsLogged()
  }

  private applyLogged({ zxid, payload }: LoggedTxn): void {
    const { header, txn } = decodeTxn(zxid, payload)
    this.db.apply(header, txn)
    this.parts.committedLog.add({ zxid, payload })
  }

  // --- restoring -------------------------------------------------------------------------------

  /**
   * Only a leader can: what it holds then counts as one more transaction of its history, which no
   * other server has. It gives up its office, is elected again for the longer history, and brings
   * everybody to it by a snapshot. Until a quorum has that, it may be lost like any transaction.
   */
  override async restore(restored: RestoredDatabase, journal: Journal): Promise<void> {
    await this.surpass(epochOf(restored.reached))
    const leader = this.establishedLeader()
    this.replacing = this.replaceBy(restored, leader, journal)
    await this.replacing.catch((error: Error) => {
      leader.end(error)
      throw error
    })
    await this.leadAgain('the database was restored: the others have to take it over')
  }

  private establishedLeader(): Leader {
    const { leader } = this
    if (leader?.isEstablished !== true) {
      throw new RestoreRefusal(
        'only the leader can restore: it passes the database on to the others',
      )
    }
    if (!this.canWrite) throw new RestoreRefusal('there is no room on the disk')
    return leader
  }

  /**
   * What comes from an ensemble with more epochs than ours must not be of a future one here. As all
   * histories are equal, another server may be elected; who asks that one finds the epochs passed.
   */
  private async surpass(epoch: bigint): Promise<void> {
    const leader = this.establishedLeader()
    if (epoch <= leader.epoch) return
    await this.parts.epochs.setAccepted(epoch)
    await this.leadAgain('the epochs of the database to be restored must lie behind us')
  }

  private async replaceBy(
    restored: RestoredDatabase,
    leader: Leader,
    journal: Journal,
  ): Promise<void> {
    const { committedLog } = this.parts
    const { committed, committedText } = this.configs
    this.stopServing()
    await leader.finish()
    if (leader.uncommitted.length > 0) throw new Error('what is proposed cannot be committed')
    const db = renamed(
      restored,
      this.appendedZxid > this.db.lastZxid ? this.appendedZxid : this.db.lastZxid,
    )
    // Who the members are is not a matter of what they hold.
    db.setConfig(committedText, committed.version, this.clock.wallMs)
    await journal.replaceBy(
      () => db.snapshotSource(),
      () => {
        this.db.adopt(db)
        committedLog.clear()
        this.loggedZxid = this.appendedZxid = db.lastZxid
      },
    )
  }

  /** Gives up our office; resolves when it is ours again, and a quorum has what we have. */
  private async leadAgain(reason: string): Promise<void> {
    const { tickMs, initLimit } = this.options
    const again = (this.leadingAgain = new Deferred<void>())
    this.leader?.end(new Error(reason))
    try {
      await within(this.parts.host, 2 * tickMs * initLimit, 'being elected again', again.promise)
    } finally {
      this.leadingAgain = undefined
    }
  }

  // --- the members -----------------------------------------------------------------------------

  /**
   * Whatever change of configuration our log holds may have been committed with our help: we know of
   * it as surely as of the log. One that was cut off from the log was never committed.
   */
  private seeWhatIsLogged(): void {
    if (this.configs.isEnabled) this.configs.setSeen(readConfig(this.db.configText ?? nothing))
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

  private configChanged(before: Pick<ConfigBook, 'committed' | 'seen'>): void {
    const { committed, seen } = this.configs
    this.election.reconfigure({ committed, lastSeen: seen })
    this.parts.network.reconfigure(committed, seen)
    const addresses = committed.servers.get(this.options.self)?.addresses
    if (addresses !== undefined) {
      this.links.moved(addresses.map(({ host, electionPort }) => `${host}:${electionPort}`))
    }
    this.traceChange(before)
  }

  private traceChange(before: Pick<ConfigBook, 'committed' | 'seen'>): void {
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

  // --- what a learner asks for -----------------------------------------------------------------

  private append({ zxid, payload }: LoggedTxn): void {
    this.batch.begin()
    this.batch.writer.raw(payload)
    this.batch.end(zxid)
    this.appendedZxid = zxid
    this.zabStats.received(payload, this.state, this.clock.wallMs)
    this.parts.wake()
  }

  /** Resolves when everything appended so far is durable. */
  flush(): Promise<void> {
    if (this.loggedZxid >= this.appendedZxid) return Promise.resolve()
    if (this.isStopped) return Promise.reject(new Error('this server is being stopped'))
    const done = new Deferred<void>()
    this.flushing.push({ upTo: this.appendedZxid, done })
    return done.promise
  }

  private async loadFrom(link: PacketLink, zxid: bigint): Promise<void> {
    const { databaseOptions, log } = this.parts
    const loading = new LoadingDatabase(databaseOptions)
    await receiveSnapshot(link, loading)
    loading.lastZxid = zxid
    loading.db.finishLoading()
    await this.journal.undisturbed(async () => {
      await log.close()
      this.db.adopt(loading.db)
      log.restart(zxid)
      this.loggedZxid = this.appendedZxid = zxid
    })
  }

  private truncate(zxid: bigint): Promise<void> {
    const { disk, recovery, log } = this.parts
    return this.journal.undisturbed(async () => {
      await log.close()
      try {
        await truncateAfter(disk, recovery, zxid)
      } catch (error) {
        if (error instanceof TruncateError) this.wantsEverything = true
        throw error
      }
      await this.reload()
      assert(this.db.lastZxid === zxid, 'a truncated log ends where it was cut')
    })
  }

  /** Back to what a restart would read. */
  private async reload(): Promise<void> {
    const { disk, recovery, databaseOptions, log, committedLog } = this.parts
    await log.close()
    committedLog.clear()
    const remember = rememberer(committedLog)
    const { db } = await loadDatabase(disk, recovery, databaseOptions, remember)
    this.db.adopt(db)
    log.restart(db.lastZxid)
    this.loggedZxid = this.appendedZxid = db.lastZxid
  }

  private async takeSnapshot(): Promise<void> {
    const taken = await this.journal.snapshotNow()
    // Of whatever kind the trouble is, what was sent is large: it is not asked for in a storm.
    if (taken === undefined) {
      throw new NoRoomError('the snapshot from the leader could not be stored')
    }
    await forgetAllBut(this.parts.disk, this.parts.recovery, taken.zxid)
    this.parts.log.restart(this.db.lastZxid)
    this.loggedZxid = this.appendedZxid = this.db.lastZxid
  }

  // --- from the host ---------------------------------------------------------------------------

  override logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    this.giveBack(batch)
    this.loggedZxid = upTo
    this.zabStats.logged(this.clock.wallMs)
    this.leader?.logged(upTo)
    this.learner?.logged(upTo)
    while (this.flushing.length > 0 && this.flushing[0]!.upTo <= upTo) {
      this.flushing.shift()!.done.resolve()
    }
  }

  override tick(): void {
    super.tick()
    const { nowMs } = this.clock
    this.zabStats.tick(nowMs)
    this.tickWithoutLeader()
    this.election.tick(nowMs)
    this.pump()
    this.learner?.tick()
    this.local?.tick()
    if (nowMs - this.lastHalfTickMs >= this.options.tickMs / 2) {
      this.lastHalfTickMs = nowMs
      this.leader?.halfTick()
      this.learner?.observers?.halfTick()
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
  acceptLearner(wire: PeerWire, door: Door = 'quorum'): PacketLink {
    const link = new PacketLink(wire, this.clock.nowMs)
    const master = door === 'quorum' ? this.leader : this.learner?.observers
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
      const { send, decision, newerConfig } = this.election.takeReady()
      const isBegunAnew = newerConfig !== undefined && this.adopt(newerConfig)
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
    if (this.leader?.isEstablished === false && this.election.isDeserted) {
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
    this.learner?.end(reason)
  }
}

const nothing = new Uint8Array(0)

/** What this server was to keep, its disk does not take. */
class NoRoomError extends Error {
  override readonly name = 'NoRoomError'
}

/** What the next role would meet again, or must not be built upon: a failing disk, or a bug. */
function isFatal(error: unknown): boolean {
  if (error instanceof AssertionError || error instanceof RecoveryError) return true
  const code = faultCode(error)
  return code !== undefined && code !== 'ENOSPC'
}

/** Keeps what recovery replays, as the history that learners are brought up from. */
export function rememberer(committedLog: CommittedLog): (payload: Uint8Array) => void {
  return (payload) => {
    const kept = new Uint8Array(payload)
    committedLog.add({ zxid: TxnHeader.read(new Reader(kept)).zxid, payload: kept })
  }
}
