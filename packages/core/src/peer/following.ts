import { packetOf, Writer, type QuorumPacket } from '@zabra/protocol'
import { Deferred } from '../base/deferred.ts'
import { type Epochs } from '../storage/epochs.ts'
import type { CommittedLog, LoggedTxn } from '../storage/log/committed-log.ts'
import { epochStart } from '../storage/zxid.ts'
import {
  Learner,
  type Delivery,
  type LearnerInput,
  type LearnerParts,
  type LearnerReady,
  type StoreStep,
} from '../consensus/zab/learner.ts'
import type { Remedy, ZabOptions } from '../consensus/zab/options.ts'
import { isPeerFault, LinkLostError } from '../consensus/zab/packets.ts'
import type { ZabStats } from '../consensus/zab/zab-stats.ts'
import type { ClientPipeline } from '../service/client-pipeline.ts'
import type { Clock } from '../service/pipeline-options.ts'
import type { GlobalUpstream } from '../service/sessions/local-sessions.ts'
import type { Upstream } from '../service/upstream.ts'
import type { Database } from '../state/database.ts'
import type { DigestMismatch } from '../state/digest-check.ts'
import type { PeerPort, ServedObservers } from './ensemble-parts.ts'
import { LeaderUpstream } from './leader-upstream.ts'
import type { PacketLink } from './links/packet-link.ts'
import type { LocalHistory } from './local-history.ts'
import type { Remains } from './roles/leaving.ts'
import type { Role } from './roles/role.ts'
import type { LeaderRelay, TakingObservers } from './taking-observers.ts'

/** A single difference may be a wrong prediction of an Apache leader; the next is right again. */
const differingTxnsMin = 2

export interface FollowingParts extends LearnerParts {
  readonly epochs: Epochs
  readonly db: Database
  readonly pipeline: ClientPipeline
  readonly committedLog: CommittedLog
  readonly clock: Clock
  /** The log. */
  readonly history: Pick<LocalHistory, 'append'>
  readonly stats: ZabStats
  /** Resolves when everything appended is durable. */
  readonly flush: () => Promise<void>
  /** Replaces the database by one that is read from the link; not durable yet. */
  readonly loadFrom: (link: PacketLink, zxid: bigint) => Promise<void>
  /** Durably removes everything after a transaction. */
  readonly truncate: (zxid: bigint) => Promise<void>
  /** Writes a snapshot of the database, durable when it resolves. */
  readonly takeSnapshot: () => Promise<void>
  /** Makes the snapshot under way fail, if there is one. */
  readonly abandonSnapshot: () => void
  /** This server is up to date with its leader: clients may be served from now on. */
  readonly serving: (epoch: bigint) => void
  /** Begins to take observers, if this server is configured to. */
  readonly takeObservers?: (epoch: bigint, relay: LeaderRelay) => TakingObservers | undefined
  /** Decides what to do about a tree that differs from the leader's. */
  readonly remedyForTree: () => Remedy
  /** The service for clients: the leader, or local sessions in front of it. */
  readonly upstreamTo?: (leader: GlobalUpstream) => Upstream
}

/**
 * The role of a follower or observer, until the connection ends or its leader is not the leader:
 * drives the machine `Learner`. Owns the connection to the leader, and carries out what the machine
 * asks for on log, database and disk.
 */
export class Following implements Role<never>, Remains {
  readonly name: 'following' | 'observing'
  hasServed = false
  readonly learner: Learner
  /** Forwards the writes of this server's clients. */
  readonly upstream: LeaderUpstream
  /** The observers of this server, if it takes any. */
  observers: TakingObservers | undefined
  private readonly parts: FollowingParts
  private readonly link: PacketLink
  private readonly ended = new Deferred<never>()
  /** The handling of a tree that differs; undefined if it does not differ. */
  private remedy: Remedy | undefined
  private isCarryingOut = false
  /** Transactions were applied since clients were last read from. */
  private hasApplied = false
  /** The work on disk under way. */
  private storing: Promise<void> | undefined

  constructor(parts: FollowingParts, options: ZabOptions, link: PacketLink) {
    this.name = parts.isObserver ? 'observing' : 'following'
    this.parts = parts
    this.link = link
    this.learner = new Learner(parts, options)
    this.upstream = new LeaderUpstream({
      db: parts.db,
      pipeline: parts.pipeline,
      link,
      proposals: this.learner,
      sessionCame: (id) => this.observers?.sessionCame(id),
      sessionEnded: (id) => this.observers?.sessionEnded(id),
    })
  }

  /** Rejects with the reason when the role has ended and its last work on disk is done. */
  async run(): Promise<never> {
    const { link, parts } = this
    link.onClosed = () =>
      this.end(link.brokenBy ?? new LinkLostError('the connection to the leader is lost'))
    if (link.isClosed) link.onClosed()
    this.step({ type: 'begin', nowMs: parts.clock.nowMs })
    link.onPacket(
      (packet) => this.step({ type: 'packet', packet }),
      () => this.packetsRead(),
    )
    try {
      return await this.ended.promise
    } finally {
      link.close()
      this.observers?.end()
      // The next role must not touch the disk before this work is done.
      while (this.storing !== undefined) await this.storing
    }
  }

  end(reason: Error): void {
    this.step({ type: 'end', reason })
  }

  /** Clients must not read a wrong tree: this server leaves, and comes back with the right one. */
  treeDiffers({ zxid, actual }: DigestMismatch): void {
    const { db, remedyForTree } = this.parts
    if (!this.hasServed || this.remedy !== undefined || db.digests.differingTxns < differingTxnsMin)
      return
    this.remedy = remedyForTree()
    if (this.name === 'following') this.object(zxid, actual)
    if (this.remedy === 'none') return
    this.end(new Error('the tree of this server differs from that of the leader'))
  }

  /** Tells the leader that this server computed another digest after a transaction. */
  private object(zxid: bigint, digest: bigint): void {
    const data = new Writer(8)
    data.long(BigInt.asIntN(64, digest))
    this.link.sendPacket(packetOf('treeDiffers', zxid, data.written()))
  }

  /** The log holds everything up to here. */
  logged(zxid: bigint): void {
    this.step({ type: 'logged', zxid })
  }

  tick(): void {
    const { link } = this
    // While a snapshot is read from the link, this server waits for the leader and not for its disk.
    const isWaiting = this.storing === undefined || link.isWaiting
    const { nowMs } = this.parts.clock
    this.step({ type: 'tick', nowMs, lastHeardMs: link.lastHeardMs, isWaiting })
    this.observers?.tick()
  }

  halfTick(): void {
    this.observers?.halfTick()
  }

  /** An observer connected; false if this server takes none. */
  accept(link: PacketLink, port: PeerPort): boolean {
    const { observers } = this
    if (port !== 'observers' || observers === undefined) return false
    observers.accept(link)
    return true
  }

  // --- for monitoring, and for the next role -----------------------------------------------------

  get state(): 'following' | 'observing' {
    return this.name
  }

  /** Undefined if this server takes none. */
  get servedObservers(): ServedObservers | undefined {
    return this.observers?.served
  }

  get uncommitted(): readonly LoggedTxn[] {
    return this.learner.uncommitted
  }

  get memoryDiffersFromDisk(): boolean {
    const isSuspect = this.remedy !== undefined && this.remedy !== 'none'
    return isSuspect || this.learner.memoryDiffersFromDisk
  }

  // --- the machine -------------------------------------------------------------------------------

  /** The results of steps made while something is carried out follow it. */
  private step(input: LearnerInput): void {
    const { learner } = this
    learner.step(input)
    if (this.isCarryingOut) return
    this.isCarryingOut = true
    try {
      for (let ready = learner.takeReady(); ready !== undefined; ready = learner.takeReady()) {
        this.carryOut(ready)
      }
    } finally {
      this.isCarryingOut = false
    }
  }

  /** In the order that LearnerReady prescribes. */
  private carryOut(ready: LearnerReady): void {
    const { send, serving, log, deliver, store, ended } = ready
    const { link, parts } = this
    if (send !== undefined) for (const packet of send) link.sendPacket(packet)
    if (serving !== undefined) this.serve(serving)
    if (ready.abandonsSnapshot) parts.abandonSnapshot()
    if (log !== undefined) for (const txn of log) this.append(txn)
    if (deliver !== undefined) for (const delivery of deliver) this.deliver(delivery)
    if (store !== undefined) this.store(store)
    if (ended !== undefined) this.close(ended)
    else if (serving !== undefined) {
      parts.trace({ type: 'following', leader: parts.leader, epoch: serving })
    }
  }

  private append(txn: LoggedTxn): void {
    const { history, stats, clock } = this.parts
    history.append(txn)
    stats.received(txn.payload, this.name, clock.wallMs)
  }

  private close(reason: Error): void {
    this.ended.reject(reason)
    this.link.close()
  }

  private serve(epoch: bigint): void {
    const { db, pipeline, serving, takeObservers, upstreamTo } = this.parts
    const { upstream } = this
    // Clients of the leader have seen the start of the epoch, and must be able to connect here.
    db.advance(epochStart(epoch))
    serving(epoch)
    this.hasServed = true
    this.observers = takeObservers?.(epoch, upstream)
    for (const id of db.sessions.keys()) upstream.sessionOf(id)
    pipeline.upstream = upstreamTo?.(upstream) ?? upstream
  }

  private deliver(delivery: Delivery): void {
    if (delivery.type === 'answer') {
      this.answered(delivery.packet)
      return
    }
    const { zxid, payload, header, txn, digest } = delivery.txn
    const { pipeline, db, committedLog, stats, clock } = this.parts
    pipeline.commit(this.upstream.takeTicket(header), header, txn)
    this.hasApplied = true
    committedLog.add({ zxid, payload })
    stats.committed(payload, this.name, clock.wallMs)
    this.observers?.committed({ zxid, payload }, delivery.successor)
    if (digest !== undefined) db.digests.check(zxid, digest)
  }

  /** There may be room again for what clients have sent. */
  private packetsRead(): void {
    if (!this.hasApplied || !this.learner.isServing) return
    this.hasApplied = false
    this.parts.pipeline.flow.resumeReading()
  }

  private answered(packet: QuorumPacket): void {
    try {
      this.upstream.answered(packet)
    } catch (error) {
      if (!isPeerFault(error)) throw error
      this.end(error)
    }
  }

  // --- on disk -----------------------------------------------------------------------------------

  /** The leader is not read from before the step is done. */
  private store(step: StoreStep): void {
    const { link } = this
    link.pause()
    this.storing = this.perform(step)
      .then(() => {
        this.storing = undefined
        this.step({ type: 'stored' })
        if (this.storing === undefined) link.resume()
      })
      .catch((error: Error) => {
        this.storing = undefined
        this.end(error)
      })
  }

  private async perform(step: StoreStep): Promise<void> {
    const { parts, link } = this
    const { db, epochs, committedLog, configs } = parts
    switch (step.type) {
      case 'acceptEpoch':
        return epochs.setAccepted(step.epoch)
      case 'loadSnapshot':
        await parts.loadFrom(link, step.zxid)
        db.isExact = false
        committedLog.clear()
        return
      case 'truncate':
        return parts.truncate(step.zxid)
      case 'takeSnapshot':
        db.isExact = true
        return parts.takeSnapshot()
      case 'flush':
        return parts.flush()
      case 'saveConfig':
        return configs.saved
      case 'enterEpoch':
        return epochs.setCurrent(step.epoch)
    }
  }
}
