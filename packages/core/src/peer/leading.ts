import { Deferred } from '../base/deferred.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { finishMsMax } from '../consensus/zab/hand-over.ts'
import { Leader } from '../consensus/zab/leader.ts'
import type {
  LeaderDelivery,
  LeaderInput,
  LeaderParts,
  LeaderReady,
  LearnerRequest,
  LogToRead,
} from '../consensus/zab/leader-ready.ts'
import type { LearnerProgress } from '../consensus/zab/learner-progress.ts'
import type { Contradiction, Remedy, ZabOptions } from '../consensus/zab/options.ts'
import type { ZabStats } from '../consensus/zab/zab-stats.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { Reconfiguring } from '../operations/reconfig.ts'
import type { Host } from '../ports.ts'
import type { Clock } from '../service/pipeline-options.ts'
import type { Proposer, ProposerHost } from '../service/proposer.ts'
import type { WriteTicket } from '../service/write-ticket.ts'
import type { Database } from '../state/database.ts'
import type { Epochs } from '../storage/epochs.ts'
import type { CommittedLog, LoggedTxn } from '../storage/log/committed-log.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import type { Leadership, PeerPort, ServedObservers } from './ensemble-parts.ts'
import { LearnerConnections } from './learner-connections.ts'
import type { PacketLink } from './links/packet-link.ts'
import type { LocalHistory } from './local-history.ts'
import type { Remains } from './roles/leaving.ts'
import type { Role } from './roles/role.ts'

/** How the proposer of a leader is connected to it. */
export interface LeaderPort {
  readonly host: ProposerHost<LearnerProgress>
  /** The zxid before that of its first transaction. */
  readonly lastZxid: bigint
  readonly reconfiguring: Reconfiguring
  /**
   * Takes a sync. It is answered when a quorum has confirmed that this server still leads, and
   * everything proposed before it is committed. Undefined if a sync is answered as a read.
   */
  readonly confirm: ((ticket: WriteTicket) => void) | undefined
  /** Everything that clients have sent is read. */
  readonly allRead: () => void
}

export interface LeadingParts extends LeaderParts {
  readonly epochs: Epochs
  readonly db: Database
  readonly committedLog: CommittedLog
  readonly host: Host
  readonly clock: Clock
  /** How far the log goes. */
  readonly history: Pick<LocalHistory, 'appended'>
  readonly stats: ZabStats
  /** Nothing was found where data should be, so this server must not lead. */
  readonly lacksData?: boolean
  /** Whether learners can connect. */
  readonly listen: (isOn: boolean) => void
  /**
   * The logged transactions between two zxids; undefined if the disk does not reach back far enough,
   * or if a snapshot would be shorter.
   */
  readonly readHistory: (after: bigint, before: bigint) => Promise<LoggedTxn[] | undefined>
  /** The leader is established: clients may be served from now on. */
  readonly serve: (port: LeaderPort) => Proposer<LearnerProgress>
  /** Answers a sync of a client of this server. */
  readonly synced: (ticket: WriteTicket) => void
  /** Clients wait while it is unknown whether this server still leads. */
  readonly hold?: (isOn: boolean) => void
  /** A voter follows this server. */
  readonly joined?: (sid: ServerId) => void
  /** Decides what to do about a tree that is wrong; by what this server knows. */
  readonly remedyFor: (from: Contradiction) => Remedy
}

/**
 * The role of a leader, until it may not lead any more: drives the machine `Leader`. Owns the
 * connections of its learners, and carries out what it asks for on proposer, database and disk.
 */
export class Leading implements Role<never>, Remains, ProposerHost<LearnerProgress> {
  readonly name = 'leading'
  readonly state = 'leading'
  memoryDiffersFromDisk = false
  refutesTree = false
  readonly leader: Leader
  /** From when this server is established as the leader. */
  proposer: Proposer<LearnerProgress> | undefined
  private readonly parts: LeadingParts
  private readonly options: ZabOptions
  private readonly connections: LearnerConnections
  private readonly keeper = new ByteKeeper()
  private readonly ended = new Deferred<never>()
  /** When clients were first served. */
  private sinceMs = 0
  private isCarryingOut = false
  /** The write to disk under way. */
  private storing: Promise<void> | undefined
  /** Set by `finish`: resolves when nothing is outstanding. */
  private finished: Deferred<void> | undefined
  /** Learners to read from once everything else is carried out. */
  private listening: LearnerProgress[] = []

  constructor(parts: LeadingParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
    this.leader = new Leader(parts, options)
    const { db, host } = parts
    const limitMs = options.tickMs * options.initLimit
    const { sliceBytes } = options
    this.connections = new LearnerConnections(
      { db, host, take: (event) => this.step(event) },
      { limitMs, sliceBytes },
    )
  }

  /** Rejects with the reason when the role has ended and its last write to disk is done. */
  async run(): Promise<never> {
    const { lacksData, listen } = this.parts
    if (lacksData === true) {
      throw new Error('no elected server has the data that this server lost')
    }
    listen(true)
    this.step({ type: 'begin' })
    try {
      return await this.ended.promise
    } finally {
      // The next role must not touch the disk before this write is done.
      await this.storing
      listen(false)
    }
  }

  end(reason: Error): void {
    this.step({ type: 'end', reason })
  }

  /**
   * Stops proposing. Resolves when everything proposed is committed, and therefore in the logs of a
   * quorum, which the successor comes from. Without a quorum it resolves after a while.
   */
  async finish(): Promise<void> {
    this.step({ type: 'finish' })
    this.finished ??= new Deferred()
    if (!this.leader.hasUncommitted) this.finished.resolve()
    const { done, cut } = this.parts.host.delay(finishMsMax)
    await Promise.race([this.finished.promise, done]).finally(cut)
  }

  // --- what happens ----------------------------------------------------------------------------

  accept(link: PacketLink, port: PeerPort = 'quorum'): boolean {
    if (port !== 'quorum') return false
    this.connections.accept(link)
    return true
  }

  /** Ends at once instead of waiting for `initLimit` while the others serve without this server. */
  deserted(): void {
    if (this.leader.isEstablished) return
    this.parts.stats.desertions++
    this.end(new Error('the others want another leader'))
  }

  /** The log holds everything up to here. */
  logged(zxid: bigint): void {
    this.step({ type: 'logged', zxid })
  }

  /** Time passed in one turn of the host. */
  passed(beforeMs: number, nowMs: number): void {
    this.step({ type: 'passed', sinceMs: beforeMs }, nowMs)
  }

  tick(): void {
    this.step({ type: 'tick' })
  }

  halfTick(): void {
    this.step({ type: 'halfTick' })
  }

  /**
   * The tree is not what was predicted, so memory has changed, or the prediction was wrong. Both are
   * right again in the next role.
   */
  treeDiffers(): void {
    this.makeWay('prediction')
  }

  /** This server makes way for one with another tree, even if it has the longest log. */
  private makeWay(from: Contradiction): void {
    if (this.memoryDiffersFromDisk || this.parts.remedyFor(from) === 'none') return
    this.refutesTree = from === 'prediction' && this.leader.othersAreQuorum
    this.memoryDiffersFromDisk = true
    this.end(new Error('the tree of this leader is wrong'))
  }

  // --- for monitoring --------------------------------------------------------------------------

  get hasServed(): boolean {
    return this.proposer !== undefined
  }

  get uncommitted(): readonly LoggedTxn[] {
    return this.leader.uncommitted
  }

  /** Its learners and its age; undefined before it is established. */
  get leadership(): Leadership | undefined {
    const { leader, sinceMs } = this
    if (!leader.isEstablished) return undefined
    const { learnerViews: learners, pendingSyncs } = leader
    return { learners, pendingSyncs, uptimeMs: this.parts.clock.nowMs - sinceMs }
  }

  /** Undefined before it is established. */
  get servedObservers(): ServedObservers | undefined {
    const { leader, connections } = this
    if (!leader.isEstablished) return undefined
    return {
      synced: leader.learnerViews.filter(({ isObserver, isSynced }) => isObserver && isSynced),
      resetCounts: () => connections.resetObserverCounts(),
    }
  }

  // --- the machine -----------------------------------------------------------------------------

  /** The results of steps made while something is carried out follow it. */
  private step(input: LeaderInput, nowMs = this.parts.clock.nowMs): void {
    const { leader } = this
    leader.step(input, nowMs)
    if (this.isCarryingOut) return
    this.isCarryingOut = true
    try {
      for (let ready = leader.takeReady(); ready !== undefined; ready = leader.takeReady()) {
        this.carryOut(ready)
      }
    } finally {
      this.isCarryingOut = false
    }
    if (this.finished !== undefined && !leader.hasUncommitted) this.finished.resolve()
    if (this.listening.length > 0) this.connections.listen(this.listening.splice(0))
  }

  /** In the order that LeaderReady prescribes. */
  private carryOut(ready: LeaderReady): void {
    const { connections, parts } = this
    const { joined, established, hold, send, deliver, requests } = ready
    const { readLog, history, listen, close, store, ended } = ready
    if (joined !== undefined) for (const sid of joined) parts.joined?.(sid)
    if (established !== undefined) this.establish(established)
    if (hold !== undefined) parts.hold?.(hold)
    if (send !== undefined) connections.send(send)
    if (deliver !== undefined) for (const delivery of deliver) this.deliver(delivery)
    if (requests !== undefined) for (const request of requests) this.ask(request)
    if (readLog !== undefined) for (const part of readLog) this.readLog(part)
    if (history !== undefined) connections.sendHistories(history)
    if (listen !== undefined) this.listening.push(...listen)
    if (close !== undefined) connections.close(close)
    if (ready.outvoted) this.makeWay('quorum')
    if (store !== undefined) this.store(store)
    if (ended !== undefined) this.close(ended)
    else if (established !== undefined) {
      parts.trace({ type: 'leading', epoch: this.leader.epoch })
    }
  }

  private close(reason: Error): void {
    this.ended.reject(reason)
    this.connections.end()
  }

  private establish({ zxid, serves }: NonNullable<LeaderReady['established']>): void {
    const { leader, parts } = this
    parts.db.advance(zxid)
    if (!serves) return
    this.proposer = parts.serve({
      host: this,
      lastZxid: zxid,
      reconfiguring: {
        ...leader.members,
        propose: (config) => this.step({ type: 'reconfig', config }),
      },
      confirm:
        this.options.confirmSyncs === false
          ? undefined
          : (ticket) => this.step({ type: 'sync', ticket }),
      allRead: () => this.allRead(),
    })
    this.sinceMs = parts.clock.nowMs
  }

  /** Makes a step only for a refusal. */
  mayPropose(zxid: bigint): boolean {
    if (this.leader.mayPropose(zxid)) return true
    this.step({ type: 'refused' })
    return false
  }

  proposed(zxid: bigint, batch: LogBatch, from: LearnerProgress | undefined): void {
    const { history, stats, clock } = this.parts
    const end = batch.writer.position - 1 // without the mark that ends a log record
    const payload = this.keeper.keep(batch.writer.view, batch.payloadStart, end)
    stats.proposed(payload.length, clock.wallMs)
    this.step({ type: 'proposed', zxid, payload, from })
    history.appended(zxid)
  }

  private allRead(): void {
    if (this.leader.pendingSyncs > 0) this.step({ type: 'allRead' })
  }

  private deliver(delivery: LeaderDelivery): void {
    if (delivery.type === 'synced') {
      this.parts.synced(delivery.ticket)
      return
    }
    const { zxid, payload } = delivery
    const { committedLog, stats, clock } = this.parts
    this.proposer!.commitUpTo(zxid)
    committedLog.add({ zxid, payload })
    stats.committed(payload, 'leading', clock.wallMs)
  }

  private ask(request: LearnerRequest): void {
    const { proposer } = this
    if (request.type === 'touch') {
      const { sessions } = request
      while (sessions.remaining >= 12) proposer?.touchRemote(sessions.long(), sessions.int())
    } else if (request.type === 'revalidate') {
      const { from: learner, zxid, sessionId, timeoutMs } = request
      this.parts.stats.revalidations++
      const isValid = proposer?.takeSession(sessionId, timeoutMs, learner) !== undefined
      this.step({ type: 'revalidated', learner, zxid, sessionId, isValid })
    } else {
      this.propose(request, proposer!)
    }
  }

  private propose(
    request: Exclude<LearnerRequest, { type: 'touch' | 'revalidate' }>,
    proposer: Proposer<LearnerProgress>,
  ): void {
    const { from, sessionId } = request
    if (request.type === 'createSession') {
      proposer.remoteCreateSession(from, sessionId, request.timeoutMs)
    } else if (request.type === 'closeSession') {
      proposer.remoteCloseSession(from, sessionId, request.xid)
    } else {
      const { xid, code: type, identities, body } = request
      proposer.remoteWrite(from, { sessionId, xid, type, identities }, body)
    }
  }

  // --- on disk ---------------------------------------------------------------------------------

  private readLog({ learner, after, before }: LogToRead): void {
    this.parts.readHistory(after, before).then(
      (txns) => this.step({ type: 'logRead', learner, txns }),
      (reason: Error) => this.step({ type: 'failed', learner, reason }),
    )
  }

  private store(step: NonNullable<LeaderReady['store']>): void {
    const { epochs } = this.parts
    const stored =
      step.type === 'acceptEpoch' ? epochs.setAccepted(step.epoch) : epochs.setCurrent(step.epoch)
    this.storing = stored.then(
      () => this.step({ type: 'stored' }),
      (reason: Error) => this.end(reason),
    )
  }
}
