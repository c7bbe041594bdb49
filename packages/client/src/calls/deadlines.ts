import type { Host } from '../host.ts'

/**
 * Number of steps into which the deadline of a call is divided: a call times out at most one step
 * late.
 */
const steps = 16

/**
 * Deadlines of calls that set none. A timer for each call would cost more than the rest of the
 * call; this is one timer for all of them, which ticks while any call is pending.
 */
export class DefaultDeadlines {
  readonly timeoutMs: number
  private readonly host: Host
  private readonly expire: (tick: number) => boolean
  private tick = 0
  private cancel: (() => void) | undefined

  constructor(
    host: Host,
    timeoutMs: number,
    /** Fails calls whose tick has come; returns whether any call with a deadline remains. */
    expire: (tick: number) => boolean,
  ) {
    this.host = host
    this.timeoutMs = timeoutMs
    this.expire = expire
  }

  /** The tick at which a call made now times out. */
  next(): number {
    if (this.cancel === undefined) this.wait()
    return this.tick + steps + 1
  }

  stop(): void {
    this.cancel?.()
    this.cancel = undefined
  }

  private wait(): void {
    this.cancel = this.host.timer(this.timeoutMs / steps, () => {
      this.cancel = undefined
      this.tick++
      if (this.expire(this.tick)) this.wait()
    })
  }
}
