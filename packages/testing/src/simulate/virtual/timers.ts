/** Node's timers, on the clock of a simulated program. */
import { AsyncResource } from 'node:async_hooks'
import { onAbort } from '@zabra/client/internal'
import type { VirtualProcess } from './virtual-process.ts'

type Callback = (...args: readonly unknown[]) => unknown

/** The longest timer of Node; it treats longer ones as 1 ms. */
const timerMsMax = 0x7fffffff
/** `setImmediate` takes some time; otherwise a loop of it would stop the clock. */
const immediateMs = 0.01

/** The result of `setTimeout`, `setInterval` and `setImmediate`. */
export class VirtualTimer {
  private readonly start: () => void
  private stop: () => void = () => {}
  private isReferenced = true

  constructor(program: VirtualProcess, ms: number, callback: () => void, repeats: boolean) {
    // Callbacks run where the timer was set, for AsyncLocalStorage of the program itself.
    const bound = AsyncResource.bind(callback)
    this.start = () => {
      this.stop()
      this.stop = program.timer(ms, () => {
        if (repeats) this.start()
        bound()
      })
    }
    this.start()
  }

  refresh(): this {
    this.start()
    return this
  }

  close(): this {
    this.stop()
    return this
  }

  ref(): this {
    this.isReferenced = true
    return this
  }

  unref(): this {
    this.isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.isReferenced
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}

/** At least 1 ms, as in Node. */
function delayOf(ms: unknown): number {
  const delayMs = Math.trunc(Number(ms))
  return delayMs >= 1 && delayMs <= timerMsMax ? delayMs : 1
}

export function startTimeout(
  program: VirtualProcess,
  [callback, ms, ...args]: readonly unknown[],
  repeats: boolean,
): VirtualTimer {
  return new VirtualTimer(program, delayOf(ms), calling(callback, args), repeats)
}

export function startImmediate(
  program: VirtualProcess,
  [callback, ...args]: readonly unknown[],
): VirtualTimer {
  return new VirtualTimer(program, immediateMs, calling(callback, args), false)
}

function calling(callback: unknown, args: readonly unknown[]): () => void {
  if (typeof callback !== 'function')
    throw Object.assign(new TypeError('the callback of a timer must be a function'), {
      code: 'ERR_INVALID_ARG_TYPE',
    })
  return () => void (callback as Callback)(...args)
}

/** The options of `node:timers/promises`. */
interface WaitOptions {
  readonly signal?: AbortSignal
}

/** `setTimeout` of `node:timers/promises`. */
export function wait<T>(
  program: VirtualProcess,
  ms: unknown,
  value: T,
  { signal }: WaitOptions = {},
): Promise<T> {
  return waitFor(program, delayOf(ms), value, signal)
}

/** `setImmediate` of `node:timers/promises`. */
export function waitImmediate<T>(
  program: VirtualProcess,
  value: T,
  { signal }: WaitOptions = {},
): Promise<T> {
  return waitFor(program, immediateMs, value, signal)
}

/** `setInterval` of `node:timers/promises`. */
export async function* waitAgain<T>(
  program: VirtualProcess,
  ms: unknown,
  value: T,
  { signal }: WaitOptions = {},
): AsyncGenerator<T, void, undefined> {
  let due = 0
  let wake = (): void => {}
  const timer = startTimeout(program, [() => (due++, wake()), ms], true)
  try {
    for (;;) {
      if (due === 0) {
        await new Promise<void>((resolve, reject) => {
          const stop =
            signal === undefined ? () => {} : onAbort(signal, () => reject(aborted(signal)))
          wake = () => (stop(), resolve())
        })
      }
      due--
      yield value
    }
  } finally {
    timer.close()
  }
}

/** `AbortSignal.timeout`. */
export function timeoutSignal(program: VirtualProcess, ms: number): AbortSignal {
  const controller = new AbortController()
  const reason = (): DOMException =>
    new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  program.timer(ms, () => controller.abort(reason()))
  return controller.signal
}

function waitFor<T>(
  program: VirtualProcess,
  ms: number,
  value: T,
  signal: AbortSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(aborted(signal))
      return
    }
    let forget = (): void => {}
    const cancel = program.timer(ms, () => {
      forget()
      resolve(value)
    })
    if (signal === undefined) return
    forget = onAbort(signal, () => {
      cancel()
      reject(aborted(signal))
    })
  })
}

/** The same as Node's. */
function aborted(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}
