import { readHistory } from '../../storage/log/committed-history.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import type { LogBatch } from '../../storage/log/log-batch.ts'
import { Proposer } from '../../service/proposer.ts'
import { serverIdOf } from '../../service/sessions/session-ids.ts'
import type { Leadership, PeerPort, ServedObservers } from '../ensemble-parts.ts'
import { Leading, type LeaderPort } from '../leading.ts'
import type { PacketLink } from '../links/packet-link.ts'
import type { Remains } from './leaving.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** Leads, and proposes what clients ask for, until it may not any more. */
export class LeaderRole implements Role<never>, Remains {
  readonly name = 'leading'
  readonly state = 'leading'
  readonly driver: Leading
  memoryDiffersFromDisk = false
  /** From when this server is established as the leader. */
  proposer: Proposer | undefined
  private readonly parts: RoleParts
  private sinceMs = 0

  constructor(parts: RoleParts) {
    const { options, epochs, db, committedLog, host, disk, recovery } = parts
    const { members, clock, pipeline, electing, zabStats } = parts
    const { self, snapshotSizeFactor } = options
    this.parts = parts
    this.driver = new Leading(
      {
        self,
        configs: members.configs,
        epochs,
        db,
        committedLog,
        host,
        readHistory: (after, before) =>
          readHistory(disk, recovery, after, before, snapshotSizeFactor),
        nowMs: () => clock.nowMs,
        trace: parts.zabTrace,
        serve: (port) => this.serve(port),
        synced: (ticket) => pipeline.synced(ticket),
        hold: (isOn) => pipeline.hold(isOn),
        outvoted: () => this.makeWay('quorum'),
        joined: (sid) => electing.election.joined(sid),
        revalidated: () => zabStats.revalidations++,
      },
      options,
    )
  }

  async run(): Promise<never> {
    const { standing, network } = this.parts
    if (standing.lacksData) {
      throw new Error('no server that was elected has the data that should be here')
    }
    network.listen(true)
    try {
      return await this.driver.run()
    } finally {
      network.listen(false)
    }
  }

  get hasServed(): boolean {
    return this.proposer !== undefined
  }

  get uncommitted(): readonly LoggedTxn[] {
    return this.driver.leader.uncommitted
  }

  /** Its learners and its age; undefined before it is established. */
  get leadership(): Leadership | undefined {
    const { driver, sinceMs, parts } = this
    if (!driver.leader.isEstablished) return undefined
    return {
      learners: driver.learnerViews,
      pendingSyncs: driver.leader.pendingSyncs,
      uptimeMs: parts.clock.nowMs - sinceMs,
    }
  }

  /** Undefined before it is established. */
  get servedObservers(): ServedObservers | undefined {
    const { driver } = this
    if (!driver.leader.isEstablished) return undefined
    return {
      synced: driver.learnerViews.filter(({ isObserver, isSynced }) => isObserver && isSynced),
      resetCounts: () => driver.resetObserverCounts(),
    }
  }

  end(reason: Error): void {
    this.driver.end(reason)
  }

  logged(zxid: bigint): void {
    this.driver.logged(zxid)
  }

  passed(beforeMs: number, nowMs: number): void {
    this.driver.passed(beforeMs, nowMs)
  }

  tick(): void {
    this.driver.tick()
  }

  halfTick(): void {
    this.driver.halfTick()
  }

  accept(link: PacketLink, port: PeerPort): boolean {
    if (port !== 'quorum') return false
    this.driver.accept(link)
    return true
  }

  /** Ends at once instead of waiting for `initLimit` while the others serve without this server. */
  deserted(): void {
    if (this.driver.leader.isEstablished) return
    this.parts.zabStats.desertions++
    this.end(new Error('the others want another leader'))
  }

  /**
   * The tree is not what was predicted, so memory has changed, or the prediction was wrong. Both are
   * right again in the next role.
   */
  treeDiffers(): void {
    this.makeWay('prediction')
  }

  /**
   * This server makes way for one with another tree, even if it has the longest log: at first it
   * reads its disk again. Then it takes the tree of the others; if these are a quorum, it does not
   * count until then.
   */
  private makeWay(from: 'quorum' | 'prediction'): void {
    if (this.memoryDiffersFromDisk) return
    const { standing, clock, zabTrace } = this.parts
    const remedy = standing.treeDiffers(clock.nowMs)
    zabTrace({ type: 'treeDiffers', from, remedy })
    if (remedy === 'none') return
    if (remedy === 'takeEverything') {
      if (from === 'quorum') standing.treeIsWorthless()
      else standing.asksForEverything()
    }
    this.memoryDiffersFromDisk = true
    this.end(new Error('the tree of this leader is wrong'))
  }

  /** A quorum has this server's history: clients are served from now on. */
  private serve(port: LeaderPort): Proposer {
    const { host, clock, members, electing, standing, options } = this.parts
    const { pipeline, service, restoring, handingOver } = this.parts
    // Sessions get their full timeout from now on, not from before the wait for the disk.
    this.parts.setTime(Math.floor(host.monotonicMs()), host.wallMs())
    members.show()
    electing.election.established(this.driver.leader.epoch)
    standing.serves()
    this.sinceMs = clock.nowMs
    const proposer = (this.proposer = this.makeProposer(port))
    pipeline.takesClients = options.leaderServes !== false
    pipeline.upstream = service.upstreamTo(proposer)
    restoring.leads()
    proposer.dropOrphans()
    handingOver.serves(options.self)
    return proposer
  }

  private makeProposer(port: LeaderPort): Proposer {
    const { pipeline, clock, ports, batch, restoring, options } = this.parts
    const { lastZxid, reconfiguring, confirm, allRead } = port
    return new Proposer(
      {
        pipeline,
        clock,
        trace: ports.trace,
        batch,
        lastZxid,
        mayPropose: (zxid) => !restoring.isReplacing && port.mayPropose(zxid),
        mayBeLocal: (id) => this.mayBeLocalElsewhere(id),
        reconfiguring,
        confirm,
        allRead,
        onProposed: (zxid, logBatch) => this.proposed(zxid, logBatch, port),
      },
      options,
    )
  }

  private proposed(zxid: bigint, batch: LogBatch, port: LeaderPort): void {
    const { history, zabStats, clock } = this.parts
    history.appendedZxid = zxid
    zabStats.proposed(batch.writer.position - 1 - batch.payloadStart, clock.wallMs)
    port.onProposed(zxid, batch)
    this.parts.wake()
  }

  private mayBeLocalElsewhere(sessionId: bigint): boolean {
    const { localSessions, serverId } = this.parts.options
    return localSessions !== undefined && serverIdOf(sessionId) !== (serverId & 0xff)
  }
}
