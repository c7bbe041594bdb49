/**
 * The sessions that have ended lately.
 *
 * Where sessions may be local, a leader takes writes of sessions that it does not know. A write of a
 * session that has just ended must not pass for one of those: it was sent through a server that the
 * session had left, and arrives late.
 */
export class EndedSessions {
  private readonly keepMs: number
  private recent = new Set<bigint>()
  private older = new Set<bigint>()
  private recentSinceMs = 0

  /** Sessions are kept for at least this time, and at most for two such times with new ones. */
  constructor(keepMs: number) {
    this.keepMs = keepMs
  }

  add(sessionId: bigint, nowMs: number): void {
    if (nowMs - this.recentSinceMs > this.keepMs) {
      this.older = this.recent
      this.recent = new Set()
      this.recentSinceMs = nowMs
    }
    this.recent.add(sessionId)
  }

  has(sessionId: bigint): boolean {
    return this.recent.has(sessionId) || this.older.has(sessionId)
  }
}
