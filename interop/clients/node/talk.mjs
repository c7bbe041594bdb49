/**
 * The protocol with the harness: prints results, one per line; answers to requests come on stdin.
 */
import { createInterface } from 'node:readline'

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

export function say(line) {
  process.stdout.write(`${line}\n`)
}

/** Runs one check and reports it; a failed check never stops the next ones. */
export async function check(name, body) {
  try {
    await within(60_000, 'the check', body())
    say(`ok ${name}`)
  } catch (error) {
    const place = /[a-z-]+\.mjs:\d+(?=:\d+\)?$)/m.exec(withoutHelpers(error.stack ?? ''))?.[0] ?? ''
    say(`FAIL ${name} ${place} ${error.message}`.replaceAll('\n', ' '))
  }
}

/** Asks the harness for something and waits until it is done. */
export async function ask(what) {
  say(`ask ${what}`)
  const { value } = await answers.next()
  demand(value === 'done', `the harness answered: ${value}`)
}

export function demand(holds, what) {
  if (!holds) throw new Error(what)
}

export function same(wanted, got, what) {
  const [left, right] = [JSON.stringify(wanted), JSON.stringify(got)]
  demand(left === right, `${what}: wanted ${left}, got ${right}`)
}

/** The codes are ZooKeeper's own, the same in both libraries. */
export async function refused(code, call) {
  try {
    await call
  } catch (error) {
    same(code, error.code, 'refusal')
    return
  }
  throw new Error(`went through, wanted ${code}`)
}

export async function within(timeoutMs, what, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what}: nothing within ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A watcher that records events of nodes. */
export class Ear {
  #heard = []
  #wake = () => {}

  hear = (type, path) => {
    this.#heard.push(`${type} ${path}`)
    this.#wake()
  }

  async expect(type, path, timeoutMs = 5000) {
    if (this.#heard.length === 0) {
      const told = new Promise((resolve) => (this.#wake = resolve))
      await within(timeoutMs, `event ${type} ${path}`, told)
    }
    same(`${type} ${path}`, this.#heard.shift(), 'event')
  }

  expectSilence() {
    same([], this.#heard, 'events')
  }
}

function withoutHelpers(stack) {
  return stack
    .split('\n')
    .filter((line) => !line.includes('talk.mjs'))
    .join('\n')
}
