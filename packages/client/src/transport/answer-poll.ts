/** The environment that polling needs. */
export interface PollPorts {
  nowMs(): number
  /** Runs a function in the next round of the loop, which keeps the loop from sleeping. */
  soon(work: () => void): void
}

const nothingAsked = -Infinity
const nodePorts: PollPorts = { nowMs: () => performance.now(), soon: setImmediate }

/**
 * Sleeping and waking takes longer than a nearby server takes to answer a read. So if the last
 * answer came at once, the loop polls for the next one for a moment before it sleeps; other work
 * continues as usual. If answers take longer, it never polls.
 */
export class AnswerPoll {
  private readonly ports: PollPorts
  /** A server that answers later than this is distant, and waiting for it asleep is better. */
  private readonly nearMs: number
  private askedMs = nothingAsked
  private isNear = false
  private isPolling = false

  constructor(nearMicros: number, ports = nodePorts) {
    this.nearMs = nearMicros / 1000
    this.ports = ports
  }

  /** Call when something was sent. */
  asked(): void {
    const { ports } = this
    this.askedMs = ports.nowMs()
    if (!this.isNear || this.isPolling) return
    this.isPolling = true
    ports.soon(this.poll)
  }

  /** Call when something was received. */
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
