/** A connection whose client is behind with reading. */
export interface Backlogged {
  /** Bytes that have left for the client, as far as the system has taken them. */
  readonly sentBytes: number
  /** Ends it, with what its client has not read. */
  shed(reason: string): void
}

interface Backlog {
  bytes: number
  sentBytes: number
  movedMs: number
}

/** Less than this is on its way to any busy client. */
export const backlogBytesMin = 64 * 1024
/** A client that has taken nothing for so long counts as not reading. */
const stalledMs = 1000
/** While the limit is exceeded by clients that read, they are looked at this often. */
const lookEveryMs = 100

/**
 * Bounds what all clients together have been sent and have not read. Replies to reads are bounded
 * for each connection; notifications cannot wait, and there can be any number of connections. Above
 * the bound those that do not read are closed, the one with most first; above twice the bound also
 * those that do.
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

  /** Called with what waits for a client, whenever that has changed. */
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
