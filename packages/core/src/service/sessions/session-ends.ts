/**
 * Why sessions ended: what this server saw of each before that. The server that its client was
 * connected to knows the connections, the one that decides (the leader) when it was heard of last;
 * each keeps its part, in a ring.
 */
import type { ClientConnection } from '../connection.ts'

/** How a connection ended. */
export type ConnectionEnd =
  /** The client closed it. */
  | 'client'
  /** It broke: reset, or no answer to what was sent. */
  | 'broken'
  /** This server closed it: it stopped serving, or the client misbehaved. */
  | 'server'
  /** The client came back on another connection. */
  | 'replaced'

export interface PastConnection {
  readonly address: string
  readonly openedWallMs: number
  /** Undefined where it was open to the end. */
  readonly closedWallMs: number | undefined
  readonly end: ConnectionEnd | undefined
  readonly requests: number
  /** The longest time in which nothing came. */
  readonly longestGapMs: number
}

/** This server did nothing for a while. */
export interface Stall {
  readonly endedWallMs: number
  readonly ms: number
}

/** The role that this server took, and when. */
export interface RoleTaken {
  readonly wallMs: number
  readonly role: string
}

export interface SessionEnd {
  readonly sessionId: bigint
  readonly zxid: bigint
  readonly wallMs: number
  /** Nobody asked for it: its time was over. */
  readonly isExpired: boolean
  readonly timeoutMs: number | undefined
  /** Whether it was this server that decided. */
  readonly isDecidedHere: boolean
  /** How long before the end the client was heard of last; the decider knows it by whole ticks. */
  readonly lastHeardMsAgo: number | undefined
  readonly lastHeardIsExact: boolean
  /** The last ones to this server; none where the client was never connected here. */
  readonly connections: readonly PastConnection[]
  /** The server that its client was connected to, where the decider knows that it was another one. */
  readonly heldBy: bigint | undefined
  /** How often the client changed servers, as far as the decider knows. */
  readonly moves: number | undefined
  /** Since the client was heard of last. */
  readonly stalls: readonly Stall[]
  readonly roles: readonly RoleTaken[]
}

/** The facts about a session that the server which expired it knows. */
export interface Decision {
  readonly timeoutMs: number
  /** By its clock, to the tick. */
  readonly lastHeardMs: number
  readonly moves: number
  readonly heldBy: bigint | undefined
}

interface Known {
  current: ClientConnection | undefined
  readonly past: PastConnection[]
  lastHeardMs: number
  timeoutMs: number
}

interface Clock {
  readonly nowMs: number
  readonly wallMs: number
}

const expiredMax = 1000
/** Those that their clients closed: only the last ones. */
const closedMax = 200
const pastConnectionsMax = 8
/** Sessions whose clients are gone, and not over yet. */
const goneMax = 20_000
const eventsMax = 100

export class SessionEnds {
  /** Those whose time was over, oldest first. */
  readonly expired: SessionEnd[] = []
  /** Those that somebody closed. */
  readonly closed: SessionEnd[] = []
  /** Called with each end. */
  onEnd: ((end: SessionEnd) => void) | undefined
  private readonly clock: Clock
  private readonly known = new Map<bigint, Known>()
  /** Known sessions without a connection; those whose clients left first come first. */
  private readonly gone = new Set<bigint>()
  private readonly decisions = new Map<bigint, Decision>()
  private readonly stalls: Stall[] = []
  private readonly roles: RoleTaken[] = []

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** The last of these sessions to have ended. */
  endOf(sessionId: bigint): SessionEnd | undefined {
    const isIt = (end: SessionEnd): boolean => end.sessionId === sessionId
    return this.expired.findLast(isIt) ?? this.closed.findLast(isIt)
  }

  // --- what is seen ------------------------------------------------------------------------------

  /** A client has its session on this connection from now on. */
  connected(connection: ClientConnection): void {
    const { sessionId, timeoutMs } = connection
    const { nowMs } = this.clock
    let known = this.known.get(sessionId)
    if (known === undefined) {
      known = { current: undefined, past: [], lastHeardMs: nowMs, timeoutMs }
      this.known.set(sessionId, known)
    }
    this.gone.delete(sessionId)
    if (known.current !== undefined) this.leave(known, 'replaced')
    known.current = connection
    known.timeoutMs = timeoutMs
  }

  disconnected(connection: ClientConnection, end: ConnectionEnd): void {
    const known = this.known.get(connection.sessionId)
    if (known?.current !== connection) return
    this.leave(known, end)
    this.gone.add(connection.sessionId)
    if (this.gone.size > goneMax) this.forgetOne()
  }

  private leave(known: Known, end: ConnectionEnd): void {
    const { current, past } = known
    if (current === undefined) return
    known.lastHeardMs = current.lastHeardMs
    known.current = undefined
    past.push(this.pastOf(current, end))
    if (past.length > pastConnectionsMax) past.shift()
  }

  private pastOf(connection: ClientConnection, end: ConnectionEnd | undefined): PastConnection {
    const { nowMs, wallMs } = this.clock
    const { link, openedWallMs, packetsReceived, longestGapMs, lastHeardMs } = connection
    return {
      address: link.address,
      openedWallMs,
      closedWallMs: end === undefined ? undefined : wallMs,
      end,
      requests: packetsReceived,
      longestGapMs: Math.max(longestGapMs, nowMs - lastHeardMs),
    }
  }

  /** How long the event loop of this server was blocked. */
  stalled(ms: number): void {
    this.stalls.push({ endedWallMs: this.clock.wallMs, ms })
    if (this.stalls.length > eventsMax) this.stalls.shift()
  }

  roleTaken(role: string): void {
    if (this.roles.at(-1)?.role === role) return
    this.roles.push({ wallMs: this.clock.wallMs, role })
    if (this.roles.length > eventsMax) this.roles.shift()
  }

  /** This server decides that a session's time is over. */
  decided(sessionId: bigint, decision: Decision): void {
    this.decisions.set(sessionId, decision)
  }

  // --- what it comes to --------------------------------------------------------------------------

  /** The end of a session is applied. */
  ended(sessionId: bigint, zxid: bigint, isExpired: boolean): void {
    const known = this.known.get(sessionId)
    const decision = this.decisions.get(sessionId)
    this.known.delete(sessionId)
    this.gone.delete(sessionId)
    this.decisions.delete(sessionId)
    // Of a session of another server's client there is nothing to say.
    if (known === undefined && decision === undefined) return
    const { nowMs, wallMs } = this.clock
    const lastHeardMs = known?.current?.lastHeardMs ?? known?.lastHeardMs ?? decision?.lastHeardMs
    const timeoutMs = known?.timeoutMs ?? decision?.timeoutMs
    const lastHeardMsAgo = lastHeardMs === undefined ? undefined : Math.round(nowMs - lastHeardMs)
    const sinceWallMs = wallMs - (lastHeardMsAgo ?? timeoutMs ?? 0)
    const connections = [...(known?.past ?? [])]
    if (known?.current !== undefined) connections.push(this.pastOf(known.current, undefined))
    const end: SessionEnd = {
      sessionId,
      zxid,
      wallMs,
      isExpired,
      timeoutMs,
      isDecidedHere: decision !== undefined,
      lastHeardMsAgo,
      lastHeardIsExact: known !== undefined,
      connections,
      heldBy: decision?.heldBy,
      moves: decision?.moves,
      stalls: this.stalls.filter(({ endedWallMs }) => endedWallMs >= sinceWallMs),
      roles: this.roles.filter((each) => each.wallMs >= sinceWallMs),
    }
    const ring = isExpired ? this.expired : this.closed
    ring.push(end)
    if (ring.length > (isExpired ? expiredMax : closedMax)) ring.shift()
    this.onEnd?.(end)
  }

  /** A client that went long ago, most likely to another server. */
  private forgetOne(): void {
    for (const id of this.gone) {
      this.known.delete(id)
      this.gone.delete(id)
      return
    }
  }
}
