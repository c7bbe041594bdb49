import { describe, expect, it } from 'vitest'
import { IdlePoll } from './idle-poll.ts'

/** An event loop that sleeps when nobody requests another round. */
class Loop {
  nowMs = 0
  isAwaited = false
  readonly poll = new IdlePoll(100, {
    nowMs: () => this.nowMs,
    soon: (work) => (this.next = work),
    isAwaited: () => this.isAwaited,
  })
  private next: (() => void) | undefined

  get sleeps(): boolean {
    return this.next === undefined
  }

  /** Runs rounds of the loop without any events. */
  pass(micros: number): void {
    const untilMs = this.nowMs + micros / 1000
    while (this.nowMs < untilMs) {
      this.nowMs += 0.002
      const { next } = this
      this.next = undefined
      next?.()
    }
  }

  arrive(): void {
    this.poll.arrived(this.nowMs)
  }
}

describe('polling for the next request before sleeping', () => {
  it('does not start for occasional requests', () => {
    const loop = new Loop()
    for (let i = 0; i < 10; i++) {
      loop.arrive()
      expect(loop.sleeps).toBe(true)
      loop.pass(150)
    }
  })

  it('starts when a request follows another closely, and lasts for a moment only', () => {
    const loop = new Loop()
    loop.arrive()
    loop.pass(60)
    loop.arrive()
    loop.pass(90)
    expect(loop.sleeps).toBe(false)
    loop.arrive()
    loop.pass(90)
    expect(loop.sleeps).toBe(false)
    loop.pass(20)
    expect(loop.sleeps).toBe(true)
    loop.arrive()
    expect(loop.sleeps).toBe(true)
  })

  it('leaves the core to other processes that are awaited', () => {
    const loop = new Loop()
    loop.arrive()
    loop.pass(60)
    loop.isAwaited = true
    loop.arrive()
    loop.pass(4)
    expect(loop.sleeps).toBe(true)
  })

  it('can be switched off', () => {
    const loop = new Loop()
    const off = new IdlePoll(0, {
      nowMs: () => loop.nowMs,
      soon: () => expect.unreachable(),
      isAwaited: () => false,
    })
    for (let i = 0; i < 5; i++) off.arrived(loop.nowMs)
  })
})
