import { codes, errorCodes, MalformedError, xids, type Reader } from '@zabra/protocol'
import { readOperation } from '../operations/index.ts'
import type { Database } from '../state/database.ts'
import type { ClientConnection } from './connection.ts'
import type { FlowControl } from './flow-control.ts'
import type { Load } from './load/load.ts'
import type { Clock } from './pipeline-options.ts'
import { replyErrorAt, type Replies } from './replies.ts'
import type { ServerStats } from './server-stats.ts'

/** The parts of the pipeline that answering reads needs. */
export interface ReadingHost {
  close(connection: ClientConnection): void
  readonly flow: Pick<FlowControl, 'limitReached'>
}

const { ok, marshallingError } = errorCodes

/** Answers reads from the applied state. */
export class Reading {
  private readonly db: Database
  private readonly clock: Clock
  private readonly replies: Replies
  private readonly stats: ServerStats
  private readonly load: Load
  private readonly host: ReadingHost

  constructor(
    parts: { db: Database; clock: Clock; replies: Replies; stats: ServerStats; load: Load },
    host: ReadingHost,
  ) {
    this.db = parts.db
    this.clock = parts.clock
    this.replies = parts.replies
    this.stats = parts.stats
    this.load = parts.load
    this.host = host
  }

  answer(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    const operation = readOperation(type)!
    if (operation.notifiesFirst === true) {
      this.answerAfterNotifications(connection, xid, type, request, receivedMs)
      return
    }
    const { out } = connection
    const requestAt = request.position
    const frameAt = this.replies.begin(out, type === codes.ping ? xids.ping : xid)
    const bodyAt = out.position
    let error: number
    try {
      error = operation.answer(this.db, connection, request, out)
      if (error !== ok && operation.keepsBodyOnError !== true) out.position = bodyAt
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
      out.position = bodyAt
    }
    if (error !== ok) {
      out.intAt(frameAt + replyErrorAt, error)
      if (error === errorCodes.quotaExceeded) this.watchLimitReached(connection)
      else if (type === codes.multiRead && error === errorCodes.badArguments) {
        this.host.flow.limitReached('multi_read_bytes', connection.link.address)
      }
    }
    this.replies.end(connection, frameAt, xid, type, receivedMs)
    const tookMs = this.clock.nowMs - receivedMs
    this.stats.readLatency.add(tookMs)
    if (tookMs < this.load.slowMs) return
    request.position = requestAt
    this.load.slowRead(connection, type, request, tookMs)
  }

  /** The reply tells the client that it has caught up, so it is sent after the notifications. */
  private answerAfterNotifications(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    let error: number
    try {
      error = readOperation(type)!.answer(this.db, connection, request, connection.out)
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
    }
    if (error === errorCodes.quotaExceeded) {
      // Clients ignore the error of this reply: they would continue without the watches.
      this.watchLimitReached(connection)
      this.host.close(connection)
      return
    }
    this.replies.bare(connection, xid, type, error, receivedMs)
  }

  private watchLimitReached(connection: ClientConnection): void {
    const limit = this.db.watches.isFull ? 'watches' : 'watches_per_session'
    this.host.flow.limitReached(limit, connection.link.address)
  }
}
