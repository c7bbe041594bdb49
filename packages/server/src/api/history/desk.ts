import { hex, type History, HistoryError } from '@zabra/core'
import { Slices } from '../../base/slices.ts'
import type { ServerView } from '../../view/server-view.ts'
import { ApiError } from '../api-error.ts'

/** Limits of queries about the past that run at the same time, and that wait. */
const workingMax = 2
const waitingMax = 32

/** Runs queries about the past, a few at a time, because each may read large files. */
export class HistoryDesk {
  private readonly view: ServerView
  private working = 0
  private readonly waiting: (() => void)[] = []

  constructor(view: ServerView) {
    this.view = view
  }

  /** An ApiError says why there is no answer. */
  async ask<T>(signal: AbortSignal, work: (history: History) => Promise<T>): Promise<T> {
    const { history } = this.view
    if (history === undefined) {
      throw new ApiError(501, 'historyOff', 'history.enabled is false on this server')
    }
    if (this.working >= workingMax) await this.turn()
    this.working++
    try {
      signal.throwIfAborted()
      return await work(history.during(new Slices(signal).pause))
    } catch (error) {
      if (error instanceof HistoryError) throw refusalOf(error)
      if (signal.aborted) throw new ApiError(499, 'gone', 'The caller did not wait for the answer')
      throw error
    } finally {
      this.working--
      this.waiting.shift()?.()
    }
  }

  private turn(): Promise<void> {
    if (this.waiting.length >= waitingMax) {
      throw new ApiError(503, 'busy', 'Too many requests for history at the same time')
    }
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}

const statuses = { tooOld: 410, notYet: 404, missing: 410, damaged: 500 } as const

function refusalOf({ problem, message, oldest }: HistoryError): ApiError {
  const details = oldest === undefined ? {} : { oldest: hex(oldest) }
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return new ApiError(statuses[problem], problem, text, undefined, details)
}
