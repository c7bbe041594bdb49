import type { Host } from '../host.ts'

/** In how many steps the time of a call is counted: a call is late by at most one of them. */
const steps = 16

/**
 * The deadline of calls that name none. A timer for each call would cost more than the rest of the
 * call; this is one timer for all of them, which ticks while any is on its way.
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
    /** Fails calls whose tick has come; returns whether any with a deadline is left. */
    expire: (tick: number) => boolean,
  ) {
    this.host = host
    this.timeoutMs = timeoutMs
    this.expire = expire
  }

  /** The tick at which a call made now is late. */
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
