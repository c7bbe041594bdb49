import {
  codes,
  packetOf,
  packetTypes,
  Reader,
  Writer,
  type Id,
  type QuorumPacket,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import type { ClientPipeline } from '../service/client-pipeline.ts'
import type { ClientConnection } from '../service/connection.ts'
import type { GlobalUpstream } from '../service/sessions/local-sessions.ts'
import { newSession, type Session } from '../service/sessions/tracker.ts'
import type { WriteTicket } from '../service/write-ticket.ts'
import type { Database } from '../state/database.ts'
import type { PacketLink } from './links/packet-link.ts'
import type { LeaderRelay } from './taking-observers.ts'

export interface LeaderUpstreamParts {
  readonly db: Pick<Database, 'sessions'>
  readonly pipeline: ClientPipeline
  /** The connection to the leader. */
  readonly link: Pick<PacketLink, 'sendPacket'>
  /** The leader's proposals that have arrived. */
  readonly proposals: {
    readonly lastProposed: bigint
    readonly lastPending: bigint | undefined
  }
  /** A client continues a session here that may have been with an observer of this server. */
  readonly sessionCame: (sessionId: bigint) => void
  readonly sessionEnded: (sessionId: bigint) => void
}

interface ForwardedWrite {
  readonly ticket: WriteTicket
  /** The last proposal when the write was sent: its own comes later. */
  readonly after: bigint
}

/**
 * Forwards the writes of a follower's or observer's clients to the leader, over the connection on
 * which the proposals come back, and finds the ticket of each transaction when it is committed.
 */
export class LeaderUpstream implements GlobalUpstream, LeaderRelay {
  readonly acceptsWrites = true
  private readonly parts: LeaderUpstreamParts
  private readonly sessions = new Map<bigint, Session>()
  private touched = new Map<bigint, number>()
  /** Shared by all requests, because packets are copied when they are sent. */
  private readonly requestBody = new Writer()
  /** Writes sent to the leader, by session, oldest first; also those of closed connections. */
  private readonly forwarded = new Map<bigint, ForwardedWrite[]>()
  private readonly syncs: (() => void)[] = []
  private readonly revalidating = new Map<bigint, ((isValid: boolean) => void)[]>()

  constructor(parts: LeaderUpstreamParts) {
    this.parts = parts
  }

  // --- what our clients want -------------------------------------------------------------------

  write(ticket: WriteTicket, body: Reader): void {
    const { sessionId, identities } = ticket.connection
    const writer = this.begin(sessionId, ticket.xid, ticket.type)
    writer.rawRange(body.bytes, body.position, body.end)
    this.request(writer, [...identities])
    this.remember(sessionId, ticket)
  }

  createSession(ticket: WriteTicket): void {
    const { sessionId, timeoutMs } = ticket.connection
    this.requestSession(sessionId, timeoutMs)
    this.remember(sessionId, ticket)
  }

  makeGlobal({ id, firstTimeoutMs }: Session): Session {
    this.requestSession(id, firstTimeoutMs)
    return this.know(id, firstTimeoutMs)
  }

  private requestSession(sessionId: bigint, timeoutMs: number): void {
    const writer = this.begin(sessionId, 0, codes.createSession)
    writer.int(timeoutMs)
    this.request(writer)
  }

  closeSession(ticket: WriteTicket): void {
    const { sessionId } = ticket.connection
    const session = this.sessions.get(sessionId)
    if (session !== undefined) session.isClosing = true
    this.request(this.begin(sessionId, ticket.xid, codes.closeSession))
    this.remember(sessionId, ticket)
  }

  sync(ticket: WriteTicket): void {
    const { sessionId } = ticket.connection
    const writer = this.begin(sessionId, ticket.xid, ticket.type)
    writer.raw(ticket.body!)
    this.request(writer)
    this.syncs.push(() => this.parts.pipeline.synced(ticket))
  }

  resumeSession(connection: ClientConnection, sessionId: bigint): void {
    this.parts.sessionCame(sessionId)
    const { timeoutMs } = connection
    this.relayRevalidation({ id: sessionId, timeoutMs }, (isValid) => {
      const session = isValid ? this.sessionOf(sessionId) : undefined
      this.parts.pipeline.resumed(connection, sessionId, session)
    })
  }

  /** The leader alone decides which sessions live; this server knows one while it is global. */
  sessionOf(sessionId: bigint): Session | undefined {
    const known = this.sessions.get(sessionId)
    if (known !== undefined) return known
    const timeoutMs = this.parts.db.sessions.get(sessionId)
    return timeoutMs === undefined ? undefined : this.know(sessionId, timeoutMs)
  }

  private know(sessionId: bigint, timeoutMs: number): Session {
    const session = newSession(sessionId, timeoutMs, false)
    this.sessions.set(sessionId, session)
    return session
  }

  touch({ sessionId, timeoutMs }: ClientConnection): void {
    this.touched.set(sessionId, timeoutMs)
  }

  applied(header: TxnHeader, txn: Txn): void {
    if (txn.type === codes.createSession) {
      this.touched.set(header.clientId, txn.body.timeOut)
    } else if (txn.type === codes.closeSession) {
      this.sessions.delete(header.clientId)
      this.touched.delete(header.clientId)
      this.parts.sessionEnded(header.clientId)
    }
  }

  private begin(sessionId: bigint, xid: number, type: number): Writer {
    const writer = this.requestBody
    writer.reset()
    writer.long(sessionId)
    writer.int(xid)
    writer.int(type)
    return writer
  }

  private request(body: Writer, identities: Id[] | null = null): void {
    this.parts.link.sendPacket(packetOf('request', -1n, body.written(), identities))
  }

  private remember(sessionId: bigint, ticket: WriteTicket): void {
    const queue = this.forwarded.get(sessionId)
    const forwarded = { ticket, after: this.parts.proposals.lastProposed }
    if (queue === undefined) this.forwarded.set(sessionId, [forwarded])
    else queue.push(forwarded)
  }

  // --- what the leader says --------------------------------------------------------------------

  /** The ticket of the write that became this transaction, if it came from a client of this server. */
  takeTicket({ clientId, cxid, type, zxid }: TxnHeader): WriteTicket | undefined {
    const queue = this.forwarded.get(clientId)
    const first = queue?.[0]
    if (queue === undefined || first?.ticket.xid !== cxid) return undefined
    const { ticket, after } = first
    // Proposed before this write was sent: the session's client asked for it at another server,
    // and numbers its requests from the start on each connection.
    if (zxid <= after) return undefined
    // When the leader ends a session or makes it global, that does not answer a request.
    const isOfSession = type === codes.closeSession || type === codes.createSession
    if (isOfSession && ticket.type !== type) return undefined
    queue.shift()
    if (queue.length === 0) this.forwarded.delete(clientId)
    return ticket
  }

  answered({ type, zxid, data }: QuorumPacket): void {
    if (type === packetTypes.ping) this.answerPing(zxid)
    // Answers arrive in the order of the requests.
    else if (type === packetTypes.sync) this.syncs.shift()?.()
    else this.revalidated(data)
  }

  private answerPing(zxid: bigint): void {
    const writer = new Writer(12 * this.touched.size + 1)
    for (const [id, timeoutMs] of this.touched) {
      writer.long(id)
      writer.int(timeoutMs)
    }
    this.touched = new Map()
    this.parts.link.sendPacket(packetOf('ping', zxid, writer.written()))
  }

  private revalidated(data: Uint8Array | null): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const isValid = reader.bool()
    const waiting = this.revalidating.get(sessionId)
    const answered = waiting?.shift()
    if (waiting?.length === 0) this.revalidating.delete(sessionId)
    answered?.(isValid)
  }

  // --- what our observers want -----------------------------------------------------------------

  get lastPending(): bigint | undefined {
    return this.parts.proposals.lastPending
  }

  relay({ zxid, data, authinfo }: QuorumPacket): void {
    this.parts.link.sendPacket(packetOf('request', zxid, data, authinfo))
  }

  relaySync(packet: QuorumPacket, answered: () => void): void {
    this.relay(packet)
    this.syncs.push(answered)
  }

  relayRevalidation(
    { id, timeoutMs }: { readonly id: bigint; readonly timeoutMs: number },
    answered: (isValid: boolean) => void,
  ): void {
    const writer = new Writer(12)
    writer.long(id)
    writer.int(timeoutMs)
    this.parts.link.sendPacket(packetOf('revalidate', -1n, writer.written()))
    const waiting = this.revalidating.get(id)
    if (waiting === undefined) this.revalidating.set(id, [answered])
    else waiting.push(answered)
  }

  relayTouch(sessionId: bigint, timeoutMs: number): void {
    this.touched.set(sessionId, timeoutMs)
  }
}
