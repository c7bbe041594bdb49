import {
  codes,
  createFlags,
  CreateRequest,
  errorCodes,
  MalformedError,
  MultiRequest,
  Reader,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import { SessionTracker, type Session } from './tracker.ts'
import type { Trace } from '../trace.ts'
import type { ClientPipeline } from '../client-pipeline.ts'
import type { Clock } from '../pipeline-options.ts'
import type { ClientConnection } from '../connection.ts'
import type { Upstream } from '../upstream.ts'
import type { WriteTicket } from '../write-ticket.ts'

/** An upstream that can make a session global that only this server knew. */
export interface GlobalUpstream extends Upstream {
  /** Asks for the session's transaction; requests given afterwards come behind it. */
  makeGlobal(session: Session): Session
}

/**
 * Sessions that cost no transaction: this server alone knows them, and ends them. The first
 * ephemeral node makes one global, since everybody must know when such a node goes.
 */
export class LocalSessions implements Upstream {
  readonly localSessions: SessionTracker
  readonly isReadOnly: boolean
  readonly sync?: (ticket: WriteTicket) => void
  readonly allRead: (() => void) | undefined
  private readonly global: GlobalUpstream
  private readonly pipeline: ClientPipeline
  private readonly clock: Clock
  private readonly trace: Trace
  private readonly upgrading: boolean

  constructor(
    parts: { global: GlobalUpstream; pipeline: ClientPipeline; clock: Clock; trace: Trace },
    options: {
      tickMs: number
      /** Whether they become global when need be, or are refused what they would need it for. */
      upgrading: boolean
    },
  ) {
    const { global } = parts
    this.global = global
    this.pipeline = parts.pipeline
    this.clock = parts.clock
    this.trace = parts.trace
    this.upgrading = options.upgrading
    this.localSessions = new SessionTracker(options.tickMs, true)
    this.isReadOnly = global.isReadOnly === true
    this.allRead = global.allRead
    if (global.sync !== undefined) this.sync = (ticket) => global.sync!(ticket)
  }

  get acceptsWrites(): boolean {
    return this.global.acceptsWrites
  }

  write(ticket: WriteTicket, body: Reader): void {
    const { connection } = ticket
    const session = connection.session!
    if (session.isLocal && createsEphemeral(ticket.type, body)) {
      if (this.upgrading) {
        this.localSessions.remove(session.id)
        connection.session = this.global.makeGlobal(session)
      } else {
        ticket.refusal = errorCodes.ephemeralOnLocalSession
      }
    }
    this.global.write(ticket, body)
  }

  decidePending(): void {
    this.global.decidePending?.()
  }

  createSession(ticket: WriteTicket): void {
    this.global.createSession(ticket)
  }

  closeSession(ticket: WriteTicket): void {
    this.global.closeSession(ticket)
  }

  resumeSession(connection: ClientConnection, sessionId: bigint): void {
    const session = this.localSessions.get(sessionId)
    if (session === undefined) this.global.resumeSession(connection, sessionId)
    else this.pipeline.resumed(connection, sessionId, session.isClosing ? undefined : session)
  }

  sessionOf(sessionId: bigint): Session | undefined {
    return this.localSessions.get(sessionId) ?? this.global.sessionOf(sessionId)
  }

  touch(connection: ClientConnection): void {
    const session = connection.session!
    if (!session.isLocal) this.global.touch(connection)
    else this.localSessions.touch(session, connection.timeoutMs, this.clock.nowMs)
  }

  applied(header: TxnHeader, txn: Txn): void {
    this.global.applied(header, txn)
  }

  /** Time passed: silent local sessions end, which no other server needs to know. */
  tick(): void {
    this.expireLocal()
    this.global.tick?.()
  }

  private expireLocal(): void {
    for (const { id, timeoutMs } of this.localSessions.expire(this.clock.nowMs)) {
      this.pipeline.stats.sessionsExpired++
      this.trace({ type: 'sessionExpired', sessionId: id, timeoutMs })
      this.pipeline.endLocalSession(id)
    }
  }
}

/** Whether a write asks for an ephemeral node, by the operations Apache looks at. */
function createsEphemeral(type: number, { bytes, position, end, memory }: Reader): boolean {
  const body = new Reader(bytes, position, end)
  body.memory = memory
  try {
    if (isCreate(type)) return isEphemeral(CreateRequest.read(body))
    if (type !== codes.multi) return false
    return MultiRequest.read(body).some(
      (part) =>
        (part.type === codes.create || part.type === codes.create2) && isEphemeral(part.request),
    )
  } catch (error) {
    // The proposer refuses a malformed request.
    if (error instanceof MalformedError) return false
    throw error
  }
}

const isCreate = (type: number): boolean => type === codes.create || type === codes.create2

const isEphemeral = ({ flags }: { flags: number }): boolean =>
  flags === createFlags.ephemeral || flags === createFlags.ephemeralSequential
