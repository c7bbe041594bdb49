import { expect, test } from 'vitest'
import { AnswerPoll } from './answer-poll.ts'

/** A loop that goes to sleep when nobody wants another round. */
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

  ask(answerMicros: number): void {
    this.poll.asked()
    this.pass(answerMicros)
    this.poll.answered()
  }
}

test('a server that is far is waited for asleep', () => {
  const loop = new Loop()
  for (let i = 0; i < 3; i++) {
    loop.ask(400)
    loop.poll.asked()
    expect(loop.sleeps).toBe(true)
  }
})

test('a near one is looked for until it has answered', () => {
  const loop = new Loop()
  loop.ask(50)
  loop.poll.asked()
  loop.pass(40)
  expect(loop.sleeps).toBe(false)
  loop.poll.answered()
  loop.pass(4)
  expect(loop.sleeps).toBe(true)
})

test('and not for long, nor the next time, when it is slow for once', () => {
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

test('what comes without having been asked for says nothing', () => {
  const loop = new Loop()
  loop.ask(400)
  loop.poll.answered()
  loop.poll.asked()
  expect(loop.sleeps).toBe(true)
})

test('whoever does not want it never looks', () => {
  const loop = new Loop(0)
  loop.ask(0)
  loop.poll.asked()
  expect(loop.sleeps).toBe(true)
})
