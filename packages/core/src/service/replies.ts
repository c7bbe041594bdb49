import { ConnectResponse, errorCodes, type Writer } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import type { Clock } from './pipeline-options.ts'
import type { ClientConnection } from './connection.ts'
import type { ServerStats } from './server-stats.ts'

/** Where the error stands, from the start of a reply's frame. */
export const replyErrorAt = 16

/** The frames of replies, and what is counted about each. */
export class Replies {
  private readonly db: Database
  private readonly clock: Clock
  private readonly stats: ServerStats

  constructor(db: Database, clock: Clock, stats: ServerStats) {
    this.db = db
    this.clock = clock
    this.stats = stats
  }

  /** Length (filled in at the end), xid, zxid, and no error so far. */
  begin(out: Writer, xid: number): number {
    const { db } = this
    const frameAt = out.position
    out.ensure(256)
    out.int(0)
    out.int(xid)
    out.longHalves(db.lastZxidHigh, db.lastZxidLow)
    out.int(errorCodes.ok)
    return frameAt
  }

  /** The reply that began at `frameAt` is whole. */
  end(
    connection: ClientConnection,
    frameAt: number,
    xid: number,
    type: number,
    receivedMs: number,
  ): void {
    const { out } = connection
    const { stats } = this
    const { nowMs } = this.clock
    const bytes = out.position - frameAt - 4
    out.intAt(frameAt, bytes)
    const latency = nowMs - receivedMs
    stats.packetsSent++
    stats.operations[type & 0xff]!++
    stats.responded(bytes)
    stats.latency.add(latency)
    connection.packetsSent++
    connection.lastOperation = type
    if (xid >= 0) connection.lastXid = xid
    connection.lastZxid = this.db.lastZxid
    connection.lastResponseMs = nowMs
    connection.lastLatencyMs = latency
    connection.latency.add(latency)
    connection.link.flushSoon()
  }

  /** A whole reply of an error code alone, which may be `ok`. */
  bare(
    connection: ClientConnection,
    xid: number,
    type: number,
    error: number,
    receivedMs: number,
  ): void {
    const frameAt = this.begin(connection.out, xid)
    connection.out.intAt(frameAt + replyErrorAt, error)
    this.end(connection, frameAt, xid, type, receivedMs)
  }

  /** Replies outside the order of requests carry no zxid. */
  inline(
    connection: ClientConnection,
    xid: number,
    error: number,
    body?: (out: Writer) => void,
    zxid: 0 | -1 = 0,
  ): void {
    const { out } = connection
    const frameAt = out.position
    out.int(0)
    out.int(xid)
    out.longHalves(zxid, zxid)
    out.int(error)
    body?.(out)
    this.sent(connection, frameAt)
  }

  handshake(
    connection: ClientConnection,
    response: Omit<ConnectResponse, 'protocolVersion'>,
  ): void {
    const { out } = connection
    const frameAt = out.position
    out.int(0)
    ConnectResponse.write(out, { protocolVersion: 0, ...response })
    this.sent(connection, frameAt)
  }

  private sent(connection: ClientConnection, frameAt: number): void {
    const { out } = connection
    out.intAt(frameAt, out.position - frameAt - 4)
    this.stats.packetsSent++
    connection.packetsSent++
    connection.link.flushSoon()
  }
}
