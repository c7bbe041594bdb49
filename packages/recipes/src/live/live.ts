import type { CallOptions, Client } from '@zabra/client'
import { Listeners, onAbort } from '@zabra/client/internal'
import { Feed } from './feed.ts'
import { limited } from '../waiting/limits.ts'

export type LiveListener<T> = (value: T, before: T) => void

/** A value that is kept up to date. */
export interface Live<T> extends AsyncIterable<T>, AsyncDisposable {
  /** As this client knows it; the last known value while the connection is lost. */
  readonly current: T
  /** Aborts when it is no longer kept up to date; the reason says why. */
  readonly signal: AbortSignal
  /**
   * Calls back at every change, after `current` has the new value. Returns a function that removes
   * the listener.
   *
   *     const stop = orders.onChange((count, before) => console.log(count - before))
   */
  onChange(listener: LiveListener<T>): () => void
  /**
   * Starts with the current value; a slow reader gets the newest value, not each one.
   *
   *     for await (const count of orders.values({ signal })) console.log(count)
   */
  values(options?: Pick<CallOptions, 'signal'>): AsyncIterableIterator<T, undefined>
  /**
   * The first value from now on for which this returns true.
   *
   *     await orders.until((count) => count >= 100n, { timeoutMs: 60_000 })
   */
  until(isSo: (value: T) => boolean, options?: CallOptions): Promise<T>
  /**
   * Stops updates, as `await using` does; the last value stays.
   *
   *     await orders.close() // or: await using orders = await counter.live()
   */
  close(): Promise<void>
}

/** The writing side of a live value. */
export class LiveCell<T> implements Live<T> {
  private readonly client: Client
  private readonly listeners: Listeners<[value: T, before: T]>
  private readonly feeds = new Set<Feed<T>>()
  private readonly whenClosed: () => PromiseLike<void>
  private value: T
  private end: { readonly reason: unknown } | undefined
  private readonly ending = new AbortController()

  /** `whenClosed` stops whatever sets the value. */
  constructor(
    client: Client,
    value: T,
    whenClosed: () => PromiseLike<void> = () => Promise.resolve(),
  ) {
    this.client = client
    this.listeners = new Listeners(client.host)
    this.value = value
    this.whenClosed = whenClosed
  }

  get current(): T {
    return this.value
  }

  get signal(): AbortSignal {
    return this.ending.signal
  }

  set(value: T): void {
    if (this.end !== undefined) return
    const before = this.value
    this.value = value
    this.listeners.call(value, before)
    for (const feed of this.feeds) feed.push(value)
  }

  onChange(listener: LiveListener<T>): () => void {
    return this.listeners.add(listener)
  }

  values({ signal }: Pick<CallOptions, 'signal'> = {}): AsyncIterableIterator<T, undefined> {
    let stop = (): void => {}
    const feed = new Feed<T>(
      (_, newest) => newest,
      (ended) => {
        this.feeds.delete(ended)
        stop()
      },
    )
    this.feeds.add(feed)
    feed.push(this.value)
    if (signal !== undefined) stop = onAbort(signal, (reason) => feed.fail(reason))
    if (this.end !== undefined) finish(feed, this.end.reason)
    return feed
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this.values()
  }

  until(isSo: (value: T) => boolean, options: CallOptions = {}): Promise<T> {
    return limited(this.client, options, async (signal) => {
      const stop: (() => void)[] = []
      try {
        return await new Promise<T>((resolve, reject) => {
          const look = (value: T): void => {
            try {
              if (isSo(value)) resolve(value)
            } catch (error) {
              reject(error)
            }
          }
          look(this.value)
          stop.push(this.onChange(look), onAbort(signal, reject), onAbort(this.signal, reject))
        })
      } finally {
        for (const undo of stop) undo()
      }
    })
  }

  /** Keeps the last value; iterations end, with the reason if there is one. */
  fail(reason: unknown): void {
    if (this.end !== undefined) return
    this.end = { reason }
    this.ending.abort(reason ?? new Error('this value is no longer kept up to date'))
    this.listeners.clear()
    for (const feed of this.feeds) finish(feed, reason)
  }

  async close(): Promise<void> {
    this.fail(undefined)
    await this.whenClosed()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function finish<T>(feed: Feed<T>, reason: unknown): void {
  if (reason === undefined) void feed.return()
  else feed.fail(reason)
}

/** Derives a live value from another one, and ends with it; closing it closes that one. */
export function mapLive<T, Made>(
  client: Client,
  source: Live<T>,
  make: (value: T) => Made,
): LiveCell<Made> {
  const made = new LiveCell(client, make(source.current), () => source.close())
  source.onChange((value) => made.set(make(value)))
  onAbort(source.signal, (reason) => made.fail(reason))
  return made
}
