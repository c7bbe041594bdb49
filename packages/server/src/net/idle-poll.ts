/** What polling needs to know and to do. */
export interface PollPorts {
  nowMs(): number
  /** Does it in the next round of the loop, which then does not go to sleep. */
  soon(work: () => void): void
  /** Something waits for the disk or for another server: they may want the core we would keep. */
  isAwaited(): boolean
}

/**
 * Waking a process that sleeps takes longer than most reads: 40 of their 60 microseconds. So where
 * reads follow one another closely the loop looks for the next one for a moment before it sleeps.
 * What comes now and then finds it asleep, and costs nothing more.
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

  /** Something came from a client. */
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
