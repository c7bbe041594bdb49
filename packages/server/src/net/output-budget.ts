/** A connection whose client is behind with reading. */
export interface Backlogged {
  /** Bytes that the operating system has accepted for this client. */
  readonly sentBytes: number
  /** Ends the connection and discards its unread bytes. */
  shed(reason: string): void
}

interface Backlog {
  bytes: number
  sentBytes: number
  movedMs: number
}

/** Bytes in transit to a client that reads steadily are fewer than this. */
export const backlogBytesMin = 64 * 1024
/** A client that has read nothing for this long counts as not reading. */
const stalledMs = 1000
/** While clients that read exceed the limit, they are checked this often. */
const lookEveryMs = 100

/**
 * Limits the unread bytes of all clients together. Replies are limited per connection, but
 * notifications cannot wait, and there can be any number of connections. Above the limit, clients
 * that do not read are closed, those with the most unread bytes first; above twice the limit also
 * those that read.
 */
export class OutputBudget {
  bytes = 0
  private readonly bytesMax: number
  private readonly nowMs: () => number
  private readonly backlogs = new Map<Backlogged, Backlog>()
  private lookedMs = -Infinity

  constructor(bytesMax: number, nowMs: () => number) {
    this.bytesMax = bytesMax
    this.nowMs = nowMs
  }

  /** Called whenever the number of unread bytes of a client changes. */
  set(connection: Backlogged, bytes: number): void {
    const known = this.backlogs.get(connection)
    this.bytes += bytes - (known?.bytes ?? 0)
    if (bytes === 0) {
      this.backlogs.delete(connection)
      return
    }
    if (known !== undefined) known.bytes = bytes
    else {
      const { sentBytes } = connection
      this.backlogs.set(connection, { bytes, sentBytes, movedMs: this.nowMs() })
    }
    if (this.bytes > this.bytesMax) this.shed()
  }

  private shed(): void {
    const nowMs = this.nowMs()
    const isUrgent = this.bytes > 2 * this.bytesMax
    if (!isUrgent && nowMs - this.lookedMs < lookEveryMs) return
    this.lookedMs = nowMs
    const stalled: [Backlogged, Backlog][] = []
    for (const [connection, backlog] of this.backlogs) {
      const { sentBytes } = connection
      if (sentBytes !== backlog.sentBytes) {
        backlog.sentBytes = sentBytes
        backlog.movedMs = nowMs
      }
      if (isUrgent || nowMs - backlog.movedMs >= stalledMs) stalled.push([connection, backlog])
    }
    stalled.sort(([, a], [, b]) => b.bytes - a.bytes)
    for (const [connection, { bytes }] of stalled) {
      if (this.bytes <= this.bytesMax) return
      const all = this.bytes
      this.set(connection, 0)
      connection.shed(`${bytes} bytes wait to be sent to it, ${all} to all clients`)
    }
  }
}
