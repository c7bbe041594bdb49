/** The environment that polling needs. */
export interface PollPorts {
  nowMs(): number
  /** Runs a function in the next round of the loop, which keeps the loop from sleeping. */
  soon(work: () => void): void
  /**
   * Whether the disk or another server is awaited: they may need the core that polling would use.
   */
  isAwaited(): boolean
}

/**
 * Waking a sleeping process takes longer than most reads: 40 of their 60 microseconds. So while
 * reads follow one another closely, the loop polls for the next one for a moment before it sleeps.
 * Occasional requests find it asleep, and cost nothing more.
 */
export class IdlePoll {
  private readonly windowMs: number
  private readonly ports: PollPorts
  private lastMs = -Infinity
  private untilMs = 0
  private isPolling = false

  constructor(windowMicros: number, ports: PollPorts) {
    this.windowMs = windowMicros / 1000
    this.ports = ports
  }

  /** Call when a client has sent something. */
  arrived(nowMs: number): void {
    const isClose = nowMs - this.lastMs < this.windowMs
    this.lastMs = nowMs
    if (!isClose) return
    this.untilMs = nowMs + this.windowMs
    if (this.isPolling) return
    this.isPolling = true
    this.ports.soon(this.poll)
  }

  private readonly poll = (): void => {
    const { ports } = this
    this.isPolling = !ports.isAwaited() && ports.nowMs() < this.untilMs
    if (this.isPolling) ports.soon(this.poll)
  }
}
