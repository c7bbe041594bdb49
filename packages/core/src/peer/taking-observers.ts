import type { LearnerProgress } from '../consensus/zab/learner-progress.ts'
import {
  ObserverMaster,
  type ObserverMasterInput,
  type ObserverMasterParts,
  type ObserverMasterReady,
  type Relayed,
} from '../consensus/zab/observer-master.ts'
import type { ZabOptions } from '../consensus/zab/options.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { Host } from '../ports.ts'
import type { Database } from '../state/database.ts'
import type { CommittedLog, LoggedTxn } from '../storage/log/committed-log.ts'
import type { QuorumPacket } from '@zabra/protocol'
import type { ServedObservers } from './ensemble-parts.ts'
import { LearnerConnections } from './learner-connections.ts'
import type { PacketLink } from './links/packet-link.ts'

/** The follower's own connection to its leader, which carries what observers ask for. */
export interface LeaderRelay {
  /** The last proposal here that is not committed; undefined for none. */
  readonly lastPending: bigint | undefined
  relay(packet: QuorumPacket): void
  /** `answered` is called after everything that was committed before the answer. */
  relaySync(packet: QuorumPacket, answered: () => void): void
  relayRevalidation(
    session: { readonly id: bigint; readonly timeoutMs: number },
    answered: (isValid: boolean) => void,
  ): void
  relayTouch(sessionId: bigint, timeoutMs: number): void
}

export interface TakingObserversParts extends Omit<ObserverMasterParts, 'proposals'> {
  readonly db: Database
  readonly committedLog: CommittedLog
  readonly host: Host
  readonly nowMs: () => number
  readonly up: LeaderRelay
  /** Whether observers can connect. */
  readonly listen: (isOn: boolean) => void
  /** A session continues at an observer: its client has left its connection here. */
  readonly sessionLeft: (sessionId: bigint) => void
}

/**
 * Drives the machine `ObserverMaster` of a follower that takes observers: owns the connections of the
 * observers, and forwards their requests.
 */
export class TakingObservers {
  readonly master: ObserverMaster
  private readonly parts: TakingObserversParts
  private readonly connections: LearnerConnections
  private isCarryingOut = false
  /** Observers to read from once everything else is carried out. */
  private listening: LearnerProgress[] = []

  constructor(parts: TakingObserversParts, options: ZabOptions) {
    this.parts = parts
    this.master = new ObserverMaster({ ...parts, proposals: parts.up }, options)
    const { db, host } = parts
    const limitMs = options.tickMs * options.initLimit
    const { sliceBytes } = options
    this.connections = new LearnerConnections(
      { db, host, take: (event) => this.step(event) },
      { limitMs, sliceBytes },
    )
    parts.listen(true)
  }

  /** This server does not follow any more: its observers look for another one. */
  end(): void {
    this.parts.listen(false)
    this.step({ type: 'end' })
  }

  /** An observer connected. */
  accept(link: PacketLink): void {
    this.connections.accept(link)
  }

  tick(): void {
    this.step({ type: 'tick' })
  }

  halfTick(): void {
    this.step({ type: 'halfTick' })
  }

  /** A transaction was applied here. If it changes the members, `leader` leads them. */
  committed(txn: LoggedTxn, leader: ServerId | undefined): void {
    this.step({ type: 'committed', txn, leader })
  }

  /** A client continues its session at this server. */
  sessionCame(sessionId: bigint): void {
    this.step({ type: 'sessionCame', sessionId })
  }

  sessionEnded(sessionId: bigint): void {
    this.step({ type: 'sessionEnded', sessionId })
  }

  /** For monitoring. */
  get served(): ServedObservers {
    return {
      synced: this.master.observerViews.filter(({ isSynced }) => isSynced),
      resetCounts: () => this.connections.resetObserverCounts(),
    }
  }

  /** The results of steps made while something is carried out follow it. */
  private step(input: ObserverMasterInput): void {
    const { master } = this
    master.step(input, this.parts.nowMs())
    if (this.isCarryingOut) return
    this.isCarryingOut = true
    try {
      for (let ready = master.takeReady(); ready !== undefined; ready = master.takeReady()) {
        this.carryOut(ready)
      }
    } finally {
      this.isCarryingOut = false
    }
    if (this.listening.length > 0) this.connections.listen(this.listening.splice(0))
  }

  /** In the order that ObserverMasterReady prescribes. */
  private carryOut({ send, relay, history, listen, close, ended }: ObserverMasterReady): void {
    const { connections } = this
    if (send !== undefined) connections.send(send)
    if (relay !== undefined) for (const relayed of relay) this.relay(relayed)
    if (history !== undefined) connections.sendHistories(history)
    if (listen !== undefined) this.listening.push(...listen)
    if (close !== undefined) connections.close(close)
    if (ended) connections.end()
  }

  private relay(relayed: Relayed): void {
    const { up, sessionLeft } = this.parts
    switch (relayed.type) {
      case 'request':
        up.relay(relayed.packet)
        return
      case 'sync':
        up.relaySync(relayed.packet, () =>
          this.step({ type: 'synced', observer: relayed.observer }),
        )
        return
      case 'touch': {
        const { sessions } = relayed
        while (sessions.remaining >= 12) up.relayTouch(sessions.long(), sessions.int())
        return
      }
      case 'revalidate': {
        const { observer, zxid, sessionId, timeoutMs } = relayed
        sessionLeft(sessionId)
        up.relayRevalidation({ id: sessionId, timeoutMs }, (isValid) =>
          this.step({ type: 'revalidated', observer, zxid, sessionId, isValid }),
        )
      }
    }
  }
}
