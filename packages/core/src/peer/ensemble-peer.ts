import type { ServerState } from '@zabra/protocol'
import type { Decision } from '../consensus/election/election.ts'
import type { Links } from '../consensus/election/links.ts'
import type { ZabEvent } from '../consensus/zab/options.ts'
import { ZabStats } from '../consensus/zab/zab-stats.ts'
import type { Membership } from '../membership/membership.ts'
import type { Clock } from '../service/pipeline-options.ts'
import { SessionTracker } from '../service/sessions/tracker.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import type { RestoredDatabase } from '../storage/recovery/restored.ts'
import { ClientService } from './client-service.ts'
import { Dialler } from './dialler.ts'
import { Electing } from './electing.ts'
import type {
  EnsembleOptions,
  EnsembleParts,
  Leadership,
  PeerPort,
  ServedObservers,
} from './ensemble-parts.ts'
import { Following } from './following.ts'
import { HandingOver, type HandOverOutcome } from './handing-over.ts'
import type { Journal } from './journal.ts'
import { Leading } from './leading.ts'
import { PacketLink, type PeerWire } from './links/packet-link.ts'
import { LocalHistory, NoRoomError } from './local-history.ts'
import { Members } from './members.ts'
import { PeerBase } from './peer-base.ts'
import { Restoring } from './restoring.ts'
import { Dialing } from './roles/dialing.ts'
import { endingOf, isFatal, type Ending } from './roles/ending.ts'
import { leaderRole } from './roles/leader-role.ts'
import { learnerRole } from './roles/learner-role.ts'
import { Leaving } from './roles/leaving.ts'
import { Looking } from './roles/looking.ts'
import { Pausing } from './roles/pausing.ts'
import type { RoleParts } from './roles/role-parts.ts'
import { assertLegalChange, starting, stopped, type Role, type RoleInputs } from './roles/role.ts'
import { WaitingForRoom } from './roles/waiting-for-room.ts'
import { Standing } from './standing.ts'
import { StopSignal } from './stop-signal.ts'

/** How long to wait before the next election after a leader that could not be joined. */
const rejoinPauseMs = 100

/**
 * A server of an ensemble: plays one role after the other (`roles/`), and hands what happens to the
 * present one. `roles/role.ts` says which role may follow which.
 *
 * Between roles everything the log holds is applied, committed or not: this server votes with what
 * a restart would read from its disk.
 */
export class EnsemblePeer extends PeerBase {
  readonly zabStats = new ZabStats()
  readonly journal: Journal
  private role: RoleInputs = starting
  private hasRoom = true
  private lastHalfTickMs = 0
  private readonly options: EnsembleOptions
  private readonly parts: RoleParts
  private readonly electing: Electing
  private readonly history: LocalHistory
  private readonly members: Members
  private readonly noSessions: SessionTracker

  constructor(given: EnsembleParts, options: EnsembleOptions, start: Clock) {
    super(given.db, options, given.ports, start)
    const zabTrace = (event: ZabEvent): void => {
      this.zabStats.note(event, this.state, this.clock.nowMs)
      if (event.type === 'crowded') this.stats.limitsReached.peer_connections++
      given.zabTrace(event)
    }
    const { digests } = given.db
    const { onMismatch } = digests
    digests.onMismatch = (mismatch) => {
      onMismatch?.(mismatch)
      this.role.treeDiffers?.(mismatch)
    }
    this.options = options
    this.journal = given.journal(this)
    this.noSessions = new SessionTracker(options.tickMs)
    const { clock, pipeline, batches, zabStats, journal } = this
    const { host, network, ports } = given
    const stopSignal = new StopSignal()
    const history = (this.history = new LocalHistory({ ...given, batches, journal }))
    const electing = (this.electing = this.makeElecting(given, zabTrace))
    const members = (this.members = this.makeMembers(given, zabTrace))
    const service = new ClientService(
      { pipeline, clock, trace: ports.trace, zabTrace, showConfig: () => members.show() },
      options,
    )
    const dialler = new Dialler(
      {
        network,
        host,
        nowMs: () => clock.nowMs,
        voters: () => members.configs.verifier.voters,
        isStopped: () => stopSignal.isStopped,
      },
      options,
    )
    const initLimitMs = options.tickMs * options.initLimit
    const leading = (): Leading | undefined => this.leading
    this.parts = {
      ...given,
      zabTrace,
      options,
      clock,
      pipeline,
      batches,
      setTime: (nowMs, wallMs) => this.setTime(nowMs, wallMs),
      stopSignal,
      standing: new Standing(given.lacksData === true),
      service,
      journal,
      history,
      members,
      electing,
      dialler,
      restoring: new Restoring(
        {
          ...given,
          history,
          journal,
          configs: members.configs,
          leading,
          canWrite: () => this.canWrite,
          stopServing: () => service.stop(),
        },
        2 * initLimitMs,
      ),
      handingOver: new HandingOver({ host, zabTrace, leading }, initLimitMs),
      zabStats,
    }
    members.readLogged()
  }

  private makeElecting({ network }: EnsembleParts, zabTrace: EnsembleParts['zabTrace']): Electing {
    const restart = (): boolean => this.role.restartElection?.() ?? false
    return new Electing(
      {
        network,
        nowMs: () => this.clock.nowMs,
        adoptConfig: (config) => this.members.adopt(config) && restart(),
        adoptProposedConfig: (config) => this.members.adoptProposed(config) && restart(),
        decided: (decision) => this.role.decided?.(decision),
        deserted: () => this.role.deserted?.(),
        crowded: () => zabTrace({ type: 'crowded', port: 'election' }),
      },
      this.options,
    )
  }

  private makeMembers(given: EnsembleParts, zabTrace: EnsembleParts['zabTrace']): Members {
    const { membership, rules } = this.options
    return new Members(
      {
        db: given.db,
        wallMs: () => this.clock.wallMs,
        zabTrace,
        configStore: given.configStore,
        onChange: ({ committed, seen }) => {
          this.electing.reconfigure({ committed, lastSeen: seen })
          given.network.reconfigure(committed, seen)
        },
      },
      { membership, reconfigEnabled: rules.reconfigEnabled },
    )
  }

  // --- the course of roles ---------------------------------------------------------------------

  /** Resolves after `stop`; rejects when this server cannot go on. */
  async run(): Promise<void> {
    const { stopSignal } = this.parts
    try {
      let appointed: Decision | undefined
      while (!stopSignal.isStopped) {
        const decision: Decision = appointed ?? (await this.become(new Looking(this.parts)))
        appointed = await this.play(decision)
      }
    } catch (error) {
      if (!stopSignal.isStopped) throw error
    } finally {
      this.change(stopped)
    }
  }

  private change(to: RoleInputs): void {
    assertLegalChange(this.role.name, to.name)
    this.role = to
  }

  private become<Result>(role: Role<Result>): Promise<Result> {
    this.change(role)
    return role.run()
  }

  /** Plays a role to its end, and what comes after it. Returns what was decided without an election. */
  private async play(decision: Decision): Promise<Decision | undefined> {
    const { stopSignal, standing } = this.parts
    if (stopSignal.isStopped) return undefined
    const ending = await this.playToEnd(decision)
    standing.lastEnding = ending
    const { role } = this
    const remains = role instanceof Leading || role instanceof Following ? role : nothingRemains
    await this.become(new Leaving(this.parts, remains, () => this.canWrite))
    if (stopSignal.isStopped) return undefined
    const pauseMs = this.pauseMsAfter(decision, ending)
    if (pauseMs > 0) await this.become(new Pausing(this.parts, pauseMs))
    if (ending.lacksRoom) await this.become(new WaitingForRoom(this.parts))
    return ending.leader === undefined ? undefined : this.appointed(ending.leader)
  }

  private async playToEnd(decision: Decision): Promise<Ending> {
    const { parts } = this
    let role: Leading | Following | undefined
    try {
      if (decision.state === 'leading') {
        return await this.become((role = leaderRole(parts)))
      }
      const reached = await this.become(new Dialing(parts, decision))
      return await this.become((role = learnerRole(parts, decision, reached)))
    } catch (error) {
      parts.zabTrace({ type: 'roleEnded', reason: (error as Error).message })
      if (isFatal(error)) throw error
      return endingOf(error, role?.hasServed === true)
    } finally {
      parts.service.stop()
      this.electing.election.pause()
    }
  }

  private pauseMsAfter(decision: Decision, { hasServed, leader, lacksRoom }: Ending): number {
    const { reconnectDelayMs = 0 } = this.options
    const isRefused = !hasServed && leader === undefined && !lacksRoom
    const isObserver = decision.state === 'observing' && reconnectDelayMs > 0
    const apartMs = isObserver ? this.parts.host.random() * reconnectDelayMs : 0
    return apartMs + (isRefused ? rejoinPauseMs : 0)
  }

  /** A change of configuration has named the next leader. */
  private appointed(leader: bigint): Decision {
    const { db, epochs, zabTrace } = this.parts
    const candidate = { leader, zxid: db.lastZxid, peerEpoch: epochs.current }
    const decision = this.electing.election.appoint(candidate)
    zabTrace({ type: 'appointed', leader })
    return decision
  }

  /** Ends the present role; `run` resolves. */
  stop(): void {
    const { stopSignal, handingOver, restoring } = this.parts
    const reason = new Error('this server is being stopped')
    stopSignal.stop(reason)
    this.role.end?.(reason)
    handingOver.stop(reason)
    restoring.stop(reason)
    this.history.stop(reason)
  }

  // --- asked by an operator --------------------------------------------------------------------

  /**
   * Call this before `stop`, when clients are not read from any more. A leader commits what it has
   * proposed, so that clients get their answers and its successor lacks nothing.
   */
  async finish(): Promise<void> {
    await this.leading?.finish()
  }

  /** Passes the leadership on. Resolves when this server serves again. */
  handOver(): Promise<HandOverOutcome> {
    return this.parts.handingOver.handOver()
  }

  override restore(restored: RestoredDatabase): Promise<void> {
    return this.parts.restoring.restore(restored)
  }

  // --- for monitoring --------------------------------------------------------------------------

  get state(): ServerState {
    return this.role.state
  }

  /** Its learners and its age, while this server leads. */
  get leadership(): Leadership | undefined {
    return this.leading?.leadership
  }

  /** The observers that this server serves as a leader or a follower; undefined if it takes none. */
  get servedObservers(): ServedObservers | undefined {
    const { role } = this
    if (role instanceof Leading || role instanceof Following) return role.servedObservers
    return undefined
  }

  /** The members, as far as this server knows that they are committed. */
  get config(): Membership {
    return this.members.configs.committed
  }

  /** Resolves when everything known about the members is in files. */
  get configSaved(): Promise<void> {
    return this.members.configs.saved
  }

  override get sessions(): SessionTracker {
    return this.leading?.proposer?.sessions ?? this.noSessions
  }

  private get leading(): Leading | undefined {
    return this.role instanceof Leading ? this.role : undefined
  }

  // --- from the host ---------------------------------------------------------------------------

  override logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    this.batches.giveBack(batch)
    this.zabStats.logged(this.clock.wallMs)
    this.role.logged?.(upTo)
    this.history.logged(upTo)
  }

  protected override passed(beforeMs: number, nowMs: number): void {
    this.role.passed?.(beforeMs, nowMs)
  }

  override tick(): void {
    super.tick()
    const { nowMs } = this.clock
    this.zabStats.tick(nowMs)
    this.electing.tick()
    this.role.tick?.()
    if (nowMs - this.lastHalfTickMs >= this.options.tickMs / 2) {
      this.lastHalfTickMs = nowMs
      this.role.halfTick?.()
    }
    this.parts.service.tick()
  }

  /** A learner connected, to be led by this server or to observe what it follows. */
  acceptLearner(wire: PeerWire, port: PeerPort = 'quorum'): PacketLink {
    const link = new PacketLink(wire, this.clock.nowMs, this.options.rules.txnBytesMax)
    if (this.role.accept?.(link, port) !== true) link.close()
    return link
  }

  /** Something happened on the election port; `tell` passes it on. */
  electionInput(tell: (links: Links) => void): void {
    this.electing.input(tell)
  }

  /** Resolves when everything appended so far is durable. */
  override flush(): Promise<void> {
    return this.history.flush()
  }

  override get canWrite(): boolean {
    return this.hasRoom
  }

  /**
   * A server that cannot log proposals is of no use to the others, and its memory of them would grow
   * without bound. It leaves them; a leader makes way for one that has room.
   */
  protected override setCanWrite(canWrite: boolean): void {
    this.hasRoom = canWrite
    if (!canWrite) {
      this.role.end?.(new NoRoomError('there is no room on the disk for a proposal'))
    }
  }
}

/** The remains of a role that handled no transactions. */
const nothingRemains = { uncommitted: [], memoryDiffersFromDisk: false }
