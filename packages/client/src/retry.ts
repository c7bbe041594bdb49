import { checkTimeout } from './calls/arguments.ts'
import { callNames, checkOptionNames } from './calls/option-names.ts'
import type { Client } from './client.ts'
import {
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  TimeoutError,
  ZabraError,
  type Refusal,
} from './errors.ts'
import type { CallOptions } from './options.ts'
import { pause } from './pause.ts'

const firstPauseMs = 100
const pauseMsMax = 2000

export interface RetryOptions extends CallOptions {
  /** Maximum number of attempts; unlimited by default, until the deadline or the signal. */
  readonly attemptsMax?: number | undefined
  /** Called after each failure that is followed by another attempt. */
  readonly onRetry?: ((error: ZabraError, attempt: number) => void) | undefined
}

const retryNames: Readonly<Record<keyof RetryOptions, true>> = {
  ...callNames,
  attemptsMax: true,
  onRetry: true,
}

export interface SettleOptions<T> extends RetryOptions {
  /** The error of a second attempt if the first succeeded: `nodeExists` for a create. */
  readonly done?: Refusal | readonly Refusal[] | undefined
  /**
   * Finds out after a loss whether the write happened: returns its result if so, else undefined.
   * Its reads should have `consistency: 'session'`.
   */
  readonly look?: ((limits: CallOptions) => Promise<T | undefined>) | undefined
}

const settleNames: Readonly<Record<keyof SettleOptions<unknown>, true>> = {
  ...retryNames,
  done: true,
  look: true,
}

/**
 * Repeats work that is safe to do twice: after a lost connection, in the next session after an
 * expiry, and after a pause if the server is overloaded. Other errors are thrown at once.
 *
 *     await retry(client, (limits) => client.deleteTree('/cache', limits), { timeoutMs: 60_000 })
 */
export async function retry<T>(
  client: Client,
  act: (limits: CallOptions) => Promise<T>,
  options: RetryOptions = {},
): Promise<T> {
  checkOptionNames('retry', options, retryNames)
  const course = new Course(client, options)
  for (;;) {
    try {
      return await act(course.limits())
    } catch (error) {
      await course.next(error, error instanceof SessionExpiredError)
    }
  }
}

/**
 * Repeats a write until its outcome is known. After a lost reply, either `look` finds out, or the
 * error named by `done` shows that the lost attempt succeeded; then the result is undefined. For
 * writes that are refused the second time: creates with fixed names, deletes, and sets with
 * `ifVersion`. Rejects with a SessionExpiredError if the session ends before the outcome is known.
 *
 *     await settle(client, (limits) => client.delete('/jobs/17', limits), { done: 'noNode' })
 */
export async function settle<T>(
  client: Client,
  write: (limits: CallOptions) => Promise<T>,
  options: SettleOptions<T> = {},
): Promise<T | undefined> {
  checkOptionNames('settle', options, settleNames)
  const { done = [], look } = options
  const refusals = typeof done === 'string' ? [done] : done
  const course = new Course(client, options)
  let mayHaveHappened = false
  for (;;) {
    try {
      if (mayHaveHappened && look !== undefined) {
        const found = await look(course.limits())
        if (found !== undefined) return found
      }
      return await write(course.limits())
    } catch (error) {
      const isDone = refusals.length > 0 && isRefusal(error, ...refusals)
      if (mayHaveHappened && isDone) return undefined
      if (error instanceof ConnectionLossError) mayHaveHappened ||= error.mayHaveHappened
      try {
        await course.next(error, false)
      } catch (reason) {
        throw mayHaveHappened ? doubtful(reason) : reason
      }
    }
  }
}

/** The same error, saying that an earlier attempt may have happened. */
function doubtful(error: unknown): unknown {
  const { path, zxid } = error instanceof ZabraError ? error : {}
  // Of a read that was to find out.
  if (error instanceof ConnectionLossError)
    return new ConnectionLossError(true, { path, zxid, cause: error })
  if (error instanceof SessionExpiredError)
    return new SessionExpiredError(true, { path, zxid, cause: error })
  if (error instanceof TimeoutError)
    return new TimeoutError(error.timeoutMs, true, { path, zxid, cause: error })
  return error
}

/** One attempt after another, up to a deadline. */
class Course {
  private readonly client: Client
  private readonly options: RetryOptions
  private readonly deadlineMs: number
  private attempts = 1
  private pauses = 0

  constructor(client: Client, options: RetryOptions) {
    const { timeoutMs = Infinity, attemptsMax } = options
    checkTimeout(timeoutMs)
    if (attemptsMax !== undefined && !(attemptsMax >= 1))
      throw new RangeError(`attemptsMax is a number from 1 on, not ${attemptsMax}`)
    this.client = client
    this.options = options
    this.deadlineMs = client.nowMs() + timeoutMs
  }

  /** The limits of the next call. */
  limits(): CallOptions {
    const { signal } = this.options
    if (this.deadlineMs === Infinity) return { signal }
    return { signal, timeoutMs: Math.max(0, this.deadlineMs - this.client.nowMs()) }
  }

  /** Waits until another attempt makes sense; throws the error if none does. */
  async next(error: unknown, isTemporary: boolean): Promise<void> {
    const { client, options } = this
    if (!(error instanceof ZabraError)) throw error
    const isLoss = isTemporary || error instanceof ConnectionLossError
    const mayRepeat = isLoss || (isRefusal(error) && error.retriable)
    if (!mayRepeat || this.attempts >= (options.attemptsMax ?? Infinity)) throw error
    if (client.state.name === 'closed') throw error
    const attempt = this.attempts++
    options.onRetry?.(error, attempt)
    if (isLoss) await client.patient.connected(this.limits())
    else await this.pause()
  }

  private pause(): Promise<void> {
    const { client, options } = this
    const ms = Math.min(pauseMsMax, firstPauseMs * 2 ** this.pauses++) * (1 + client.host.random())
    const leftMs = this.deadlineMs - client.nowMs()
    return pause(client.host, Math.min(ms, leftMs), options.signal)
  }
}
