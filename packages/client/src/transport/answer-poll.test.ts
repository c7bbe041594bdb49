import { expect, test } from 'vitest'
import { AnswerPoll } from './answer-poll.ts'

/** An event loop that sleeps when nobody requests another round. */
class Loop {
  nowMs = 0
  private next: (() => void) | undefined
  readonly poll: AnswerPoll

  constructor(nearMicros = 250) {
    this.poll = new AnswerPoll(nearMicros, {
      nowMs: () => this.nowMs,
      soon: (work) => (this.next = work),
    })
  }

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

  ask(answerMicros: number): void {
    this.poll.asked()
    this.pass(answerMicros)
    this.poll.answered()
  }
}

test('does not poll for a distant server', () => {
  const loop = new Loop()
  for (let i = 0; i < 3; i++) {
    loop.ask(400)
    loop.poll.asked()
    expect(loop.sleeps).toBe(true)
  }
})

test('polls for a nearby server until it has answered', () => {
  const loop = new Loop()
  loop.ask(50)
  loop.poll.asked()
  loop.pass(40)
  expect(loop.sleeps).toBe(false)
  loop.poll.answered()
  loop.pass(4)
  expect(loop.sleeps).toBe(true)
})

test('stops soon when it is slow once, and does not poll the next time', () => {
  const loop = new Loop()
  loop.ask(50)
  loop.poll.asked()
  loop.pass(260)
  expect(loop.sleeps).toBe(true)
  loop.pass(1000)
  loop.poll.answered()
  loop.poll.asked()
  expect(loop.sleeps).toBe(true)
})

test('unsolicited messages do not count', () => {
  const loop = new Loop()
  loop.ask(400)
  loop.poll.answered()
  loop.poll.asked()
  expect(loop.sleeps).toBe(true)
})

test('never polls if disabled', () => {
  const loop = new Loop(0)
  loop.ask(0)
  loop.poll.asked()
  expect(loop.sleeps).toBe(true)
})
