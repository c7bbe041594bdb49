/** What polling needs to know and to do. */
export interface PollPorts {
  nowMs(): number
  /** Does it in the next round of the loop, which then does not go to sleep. */
  soon(work: () => void): void
  /** The disk is at work: the thread that writes wants the core that polling would keep. */
  isLogging(): boolean
}

/**
 * Waking a process that sleeps takes longer than most requests: 40 of the 60 microseconds of a read.
 * So where requests follow one another closely the loop looks for the next one for a moment before
 * it sleeps. What comes now and then finds it asleep, and costs nothing more.
 */
export class IdlePoll {
  private readonly windowMs: number
  private readonly ports: PollPorts
  private lastMs = -Infinity
  private untilMs = 0
  /** The last request came soon after what was done before it. */
  private isWorthwhile = false
  private isPolling = false

  constructor(windowMicros: number, ports: PollPorts) {
    this.windowMs = windowMicros / 1000
    this.ports = ports
  }

  /** Something came from a socket. */
  arrived(nowMs: number): void {
    if (nowMs - this.lastMs < this.windowMs) this.isWorthwhile = true
    this.worked(nowMs)
  }

  /** Something was done, and what was waiting for it may now ask for more. */
  worked(nowMs: number): void {
    this.lastMs = nowMs
    if (!this.isWorthwhile) return
    this.untilMs = nowMs + this.windowMs
    if (this.isPolling) return
    this.isPolling = true
    this.ports.soon(this.poll)
  }

  private readonly poll = (): void => {
    const { ports } = this
    if (!ports.isLogging()) {
      if (ports.nowMs() < this.untilMs) {
        ports.soon(this.poll)
        return
      }
      this.isWorthwhile = false
    }
    this.isPolling = false
  }
}
