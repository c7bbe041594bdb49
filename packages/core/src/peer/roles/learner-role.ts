import type { Decision } from '../../consensus/election/election.ts'
import type { Remedy } from '../../consensus/zab/options.ts'
import type { DigestMismatch } from '../../state/database.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import { TruncateError } from '../../storage/log/truncate.ts'
import type { ReachedMaster } from '../dialler.ts'
import type { PeerPort, ServedObservers } from '../ensemble-parts.ts'
import { Following } from '../following.ts'
import type { PacketLink } from '../links/packet-link.ts'
import { TakingObservers, type LeaderRelay } from '../taking-observers.ts'
import type { Remains } from './leaving.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** A single difference may be a wrong prediction of an Apache leader; the next is right again. */
const differingTxnsMin = 2

/** Follows or observes a leader, until the connection ends or the leader is not the leader. */
export class LearnerRole implements Role<never>, Remains {
  readonly name: 'following' | 'observing'
  readonly driver: Following
  hasServed = false
  /** What is done about a tree that differs; undefined if it does not. */
  private remedy: Remedy | undefined
  private readonly parts: RoleParts
  private readonly decision: Decision

  constructor(parts: RoleParts, decision: Decision, { link, master }: ReachedMaster) {
    const { options, epochs, db, committedLog, pipeline, clock } = parts
    const { members, standing, history, journal, service } = parts
    this.name = decision.state === 'observing' ? 'observing' : 'following'
    this.parts = parts
    this.decision = decision
    this.driver = new Following(
      {
        self: options.self,
        leader: master,
        elected: decision.leader,
        isObserver: this.name === 'observing',
        epochs,
        db,
        pipeline,
        committedLog,
        configs: members.configs,
        wantsEverything: standing.wantsEverything,
        lacksData: standing.lacksData,
        nowMs: () => clock.nowMs,
        trace: parts.zabTrace,
        append: (txn) => this.append(txn),
        flush: () => history.flush(),
        loadFrom: (from, zxid) => history.loadFrom(from, zxid),
        truncate: (zxid) => this.truncate(zxid),
        takeSnapshot: () => history.takeSnapshot(standing.keepsOldFiles),
        abandonSnapshot: () => journal.abandonSnapshot(),
        serving: (epoch) => this.serves(epoch),
        takeObservers: (epoch, relay) => this.takeObservers(epoch, relay),
        upstreamTo: (upstream) => service.upstreamTo(upstream),
      },
      options,
      link,
    )
  }

  async run(): Promise<never> {
    try {
      return await this.driver.run()
    } finally {
      if (this.driver.observers !== undefined) this.parts.network.listen(false, 'observers')
    }
  }

  get state(): Decision['state'] {
    return this.name
  }

  /** Undefined if this server takes none. */
  get servedObservers(): ServedObservers | undefined {
    return this.driver.observers?.served
  }

  get uncommitted(): readonly LoggedTxn[] {
    return this.driver.learner.uncommitted
  }

  get memoryDiffersFromDisk(): boolean {
    const isSuspect = this.remedy !== undefined && this.remedy !== 'none'
    return isSuspect || this.driver.learner.memoryDiffersFromDisk
  }

  end(reason: Error): void {
    this.driver.end(reason)
  }

  logged(zxid: bigint): void {
    this.driver.logged(zxid)
  }

  tick(): void {
    this.driver.tick()
  }

  halfTick(): void {
    this.driver.observers?.halfTick()
  }

  /** Clients must not read a wrong tree: this server leaves, and comes back with the right one. */
  treeDiffers({ zxid, actual }: DigestMismatch): void {
    const { db, standing, clock, zabTrace } = this.parts
    if (!this.hasServed || this.remedy !== undefined || db.differingTxns < differingTxnsMin) return
    const remedy = standing.treeDiffers(clock.nowMs)
    this.remedy = remedy
    zabTrace({ type: 'treeDiffers', from: 'leader', remedy })
    if (this.name === 'following') this.driver.object(zxid, actual)
    if (remedy === 'none') return
    if (remedy === 'takeEverything') standing.asksForEverything()
    this.end(new Error('the tree of this server differs from that of the leader'))
  }

  accept(link: PacketLink, port: PeerPort): boolean {
    const { observers } = this.driver
    if (port !== 'observers' || observers === undefined) return false
    observers.accept(link)
    return true
  }

  private append(txn: LoggedTxn): void {
    const { history, zabStats, clock } = this.parts
    history.append(txn)
    zabStats.received(txn.payload, this.state, clock.wallMs)
  }

  private async truncate(zxid: bigint): Promise<void> {
    const { history, members, standing } = this.parts
    try {
      await history.truncate(zxid)
      members.readLogged()
    } catch (error) {
      if (error instanceof TruncateError) standing.truncateFailed()
      throw error
    }
  }

  /** This server is up to date with its leader: clients are served from now on. */
  private serves(epoch: bigint): void {
    const { members, electing, standing, log, restoring, handingOver } = this.parts
    members.show()
    electing.election.established(epoch)
    standing.serves()
    this.hasServed = true
    void log.releaseExtent()
    handingOver.serves(this.decision.leader)
    restoring.follows()
  }

  /** A follower takes observers from now on, if the ensemble is configured so. */
  private takeObservers(epoch: bigint, up: LeaderRelay): TakingObservers | undefined {
    const { options, db, committedLog, host, members, clock, zabTrace, pipeline, network } =
      this.parts
    const { observerMaster, self } = options
    if (this.name === 'observing' || observerMaster === undefined) return undefined
    const observers = new TakingObservers(
      {
        self,
        epoch,
        db,
        committedLog,
        configs: members.configs,
        host,
        nowMs: () => clock.nowMs,
        trace: zabTrace,
        up,
        sessionLeft: (id) => pipeline.sessionLeft(id),
        queueBytesMax: observerMaster.queueBytesMax,
      },
      options,
    )
    network.listen(true, 'observers')
    return observers
  }
}
