/** What polling needs. */
export interface PollPorts {
  nowMs(): number
  /** Does it in the next round of the loop, which then does not go to sleep. */
  soon(work: () => void): void
}

const nothingAsked = -Infinity
const nodePorts: PollPorts = { nowMs: () => performance.now(), soon: setImmediate }

/**
 * Going to sleep and being woken takes longer than a server next door takes to answer a read. So
 * where the last answer came at once, the loop looks for the next one for a moment before it
 * sleeps; other work is done meanwhile as always. Where answers take longer it never does.
 */
export class AnswerPoll {
  private readonly ports: PollPorts
  /** A server that answers later is far, and whoever waits for it had better sleep. */
  private readonly nearMs: number
  private askedMs = nothingAsked
  private isNear = false
  private isPolling = false

  constructor(nearMicros: number, ports = nodePorts) {
    this.nearMs = nearMicros / 1000
    this.ports = ports
  }

  /** Something was sent. */
  asked(): void {
    const { ports } = this
    this.askedMs = ports.nowMs()
    if (!this.isNear || this.isPolling) return
    this.isPolling = true
    ports.soon(this.poll)
  }

  /** Something came. */
  answered(): void {
    if (this.askedMs === nothingAsked) return
    this.isNear = this.ports.nowMs() - this.askedMs < this.nearMs
    this.askedMs = nothingAsked
  }

  private readonly poll = (): void => {
    const { ports } = this
    this.isPolling = ports.nowMs() - this.askedMs < this.nearMs
    if (this.isPolling) ports.soon(this.poll)
  }
}
