import { describe, expect, it } from 'vitest'
import { IdlePoll } from './idle-poll.ts'

/** A loop that goes to sleep when nobody wants another round. */
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

  /** Rounds of the loop without anything to do. */
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

describe('looking for the next request before going to sleep', () => {
  it('does not for what comes now and then', () => {
    const loop = new Loop()
    for (let i = 0; i < 10; i++) {
      loop.arrive()
      expect(loop.sleeps).toBe(true)
      loop.pass(150)
    }
  })

  it('does once a request follows another closely, and for a moment only', () => {
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

  it('leaves the core to whoever is waited for', () => {
    const loop = new Loop()
    loop.arrive()
    loop.pass(60)
    loop.isAwaited = true
    loop.arrive()
    loop.pass(4)
    expect(loop.sleeps).toBe(true)
  })

  it('never does when told so', () => {
    const loop = new Loop()
    const off = new IdlePoll(0, {
      nowMs: () => loop.nowMs,
      soon: () => expect.unreachable(),
      isAwaited: () => false,
    })
    for (let i = 0; i < 5; i++) off.arrived(loop.nowMs)
  })
})
