import { codes, ConnectRequest, type Reader } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import type { SessionPasswords } from './sessions/password.ts'
import type { SessionEnds } from './sessions/session-ends.ts'
import type { SessionIds } from './sessions/session-ids.ts'
import type { Session } from './sessions/tracker.ts'
import type { Trace } from './trace.ts'
import type { Clock, PipelineOptions } from './pipeline-options.ts'
import type { ClientConnection } from './connection.ts'
import type { ConnectionThrottle } from './connection-throttle.ts'
import type { FlowControl } from './flow-control.ts'
import type { Replies } from './replies.ts'
import type { ServerStats } from './server-stats.ts'
import type { Upstream } from './upstream.ts'

/** The parts of the pipeline that admission needs. */
export interface AdmissionHost {
  /** Undefined while this server does not serve: then it takes no handshake. */
  readonly upstream: Upstream | undefined
  readonly takesClients: boolean
  close(connection: ClientConnection): void
  readonly flow: Pick<FlowControl, 'limitReached'>
  /** Has a session created for this connection, which waits for it. */
  proposeSession(connection: ClientConnection, upstream: Upstream): void
}

interface Parts {
  readonly db: Database
  readonly clock: Clock
  readonly trace: Trace
  readonly sessionIds: SessionIds
  readonly passwords: SessionPasswords
  readonly stats: ServerStats
  readonly replies: Replies
  readonly throttle: ConnectionThrottle | undefined
  readonly sessionEnds: SessionEnds
}

type Options = Pick<PipelineOptions, 'sessionTimeoutMsMin' | 'sessionTimeoutMsMax'>

/** Handles handshakes: admits clients, with a new or an existing session, or refuses them. */
export class Admission {
  private readonly parts: Parts
  private readonly options: Options
  private readonly host: AdmissionHost
  private readonly bySession = new Map<bigint, ClientConnection>()

  constructor(parts: Parts, options: Options, host: AdmissionHost) {
    this.parts = parts
    this.options = options
    this.host = host
  }

  /** The connection that has this session now. */
  connectionOf(sessionId: bigint): ClientConnection | undefined {
    return this.bySession.get(sessionId)
  }

  /** The connection is closed; its session may have another connection by now. */
  left(connection: ClientConnection): void {
    if (this.bySession.get(connection.sessionId) === connection) {
      this.bySession.delete(connection.sessionId)
    }
  }

  /** A client's first frame; false to read no further for the moment. */
  greet(connection: ClientConnection, body: Reader): boolean {
    const request = ConnectRequest.read(body)
    const { stats, db } = this.parts
    const { upstream } = this.host
    stats.packetsReceived++
    connection.packetsReceived++
    const { lastZxidSeen, sessionId } = request
    if (upstream !== undefined && !this.admits(upstream, sessionId)) {
      stats.connectionsRejected++
      this.host.flow.limitReached('session_rate', connection.link.address)
      this.host.close(connection)
      return false
    }
    stats.connectionRequests++
    if (
      upstream === undefined ||
      !this.host.takesClients ||
      lastZxidSeen > db.lastZxid ||
      this.needsQuorum(upstream, request)
    ) {
      this.turnAway(connection, lastZxidSeen)
      return false
    }
    const { sessionTimeoutMsMin, sessionTimeoutMsMax } = this.options
    connection.timeoutMs = Math.min(
      sessionTimeoutMsMax,
      Math.max(sessionTimeoutMsMin, request.timeOut),
    )
    connection.knowsReadOnly = request.readOnly !== undefined
    connection.state = 'connecting'
    if (sessionId !== 0n) stats.connectionRevalidations++
    if (sessionId === 0n) {
      this.createSession(connection, upstream)
    } else if (this.parts.passwords.isRight(sessionId, request.passwd)) {
      this.closeOlder(sessionId)
      upstream.resumeSession(connection, sessionId)
    } else {
      this.refuse(connection, sessionId, 'password')
    }
    return isAdmitted(connection)
  }

  private admits({ localSessions }: Upstream, sessionId: bigint): boolean {
    const { throttle, stats, clock } = this.parts
    if (throttle === undefined) return true
    const isNew = sessionId === 0n
    const kind = !isNew ? 'renewed' : localSessions === undefined ? 'global' : 'local'
    if (!throttle.admits(kind, clock.nowMs)) return false
    stats.tokenDeficit.add(throttle.deficit)
    return true
  }

  /** The session was created: its connection gets the reply to the handshake. */
  created(connection: ClientConnection, session: Session): void {
    const { timeoutMs, link } = connection
    const { address } = link
    this.parts.trace({ type: 'sessionCreated', sessionId: session.id, timeoutMs, address })
    this.admit(connection, session)
  }

  /**
   * A session has one connection. The older one is closed as soon as the session is resumed: its
   * requests must not reach the leader after that, where they would count as new ones.
   */
  private closeOlder(sessionId: bigint): void {
    const older = this.bySession.get(sessionId)
    if (older === undefined) return
    older.end = 'replaced'
    this.host.close(older)
  }

  /** The session continues on this connection. */
  resumed(connection: ClientConnection, session: Session): void {
    this.closeOlder(session.id)
    const { timeoutMs, link } = connection
    const { address } = link
    this.parts.trace({ type: 'sessionResumed', sessionId: session.id, timeoutMs, address })
    this.admit(connection, session)
  }

  refuse(connection: ClientConnection, sessionId: bigint, reason: 'unknown' | 'password'): void {
    const { address } = connection.link
    if (reason === 'password') this.parts.stats.failedGuesses++
    this.parts.trace({ type: 'sessionRefused', sessionId, address, reason })
    this.respond(connection, 0, 0n, new Uint8Array(16))
    this.host.close(connection)
  }

  /** Whether the client needs a quorum: it wants to write, or its session is global. */
  private needsQuorum({ isReadOnly }: Upstream, { readOnly, sessionId }: ConnectRequest): boolean {
    return isReadOnly === true && (readOnly !== true || this.parts.db.sessions.has(sessionId))
  }

  /** Refuses a client that must connect to another server: this one does not serve, or lags behind it. */
  private turnAway(connection: ClientConnection, lastZxidSeen: bigint): void {
    const { address } = connection.link
    const { lastZxid } = this.parts.db
    if (lastZxidSeen > lastZxid) {
      this.parts.trace({ type: 'clientAhead', lastZxidSeen, lastZxid, address })
    }
    this.host.close(connection)
  }

  private createSession(connection: ClientConnection, upstream: Upstream): void {
    const { sessionIds, clock } = this.parts
    const { localSessions } = upstream
    if (localSessions !== undefined) {
      const session = localSessions.add(sessionIds.next(), connection.timeoutMs, clock.nowMs)
      this.created(connection, session)
      return
    }
    if (!upstream.acceptsWrites) {
      this.host.close(connection)
      return
    }
    connection.sessionId = sessionIds.next()
    this.host.proposeSession(connection, upstream)
  }

  private admit(connection: ClientConnection, session: Session): void {
    connection.session = session
    connection.sessionId = session.id
    connection.state = 'open'
    connection.lastOperation = codes.createSession
    connection.lastResponseMs = this.parts.clock.nowMs
    this.bySession.set(session.id, connection)
    this.parts.sessionEnds.connected(connection)
    this.host.upstream?.touch(connection)
    const password = this.parts.passwords.of(session.id)
    this.respond(connection, connection.timeoutMs, session.id, password)
  }

  private respond(
    connection: ClientConnection,
    timeOut: number,
    sessionId: bigint,
    passwd: Uint8Array,
  ): void {
    const readOnly = connection.knowsReadOnly ? this.host.upstream?.isReadOnly === true : undefined
    this.parts.replies.handshake(connection, { timeOut, sessionId, passwd, readOnly })
  }
}

/** Whether it is admitted already; otherwise the requests after the handshake wait. */
function isAdmitted({ state }: ClientConnection): boolean {
  return state === 'open'
}
