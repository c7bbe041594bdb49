import type { CallOptions, Client, Codec, Stat } from '@zabra/client'
import { callNames } from '@zabra/client/internal'
import { AtomicValue, type Versioned } from './atomic-value.ts'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { limited, orAborted } from './waiting/limits.ts'
import type { Live, LiveListener } from './live/live.ts'
import { openLiveNode } from './live/live-node.ts'
import type { NodeState } from './nodes/node.ts'
import { tellProblem, type ProblemListener } from './live/problem.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface ConfigurationOptions<T> extends CallOptions {
  /** Use `json(schema)` to validate values. */
  readonly codec: Codec<T>
  /** The value without a node. If left out, opening waits for the node. */
  readonly fallback?: T | undefined
  /** Called for data that the codec cannot decode: the last valid value stays. */
  readonly onProblem?: ProblemListener | undefined
}

/**
 * A value in a node, typed and kept up to date.
 *
 *     const codec = json<{ rate: number }>()
 *     await using limits = await Configuration.open(client, '/limits', { codec, fallback: { rate: 5 } })
 *     limits.onChange(({ rate }) => limiter.setRate(rate))
 *     await limits.update((now) => ({ ...now, rate: now.rate * 2 }))
 */
export class Configuration<T> implements Live<T> {
  readonly path: string
  private readonly client: Client
  private readonly options: ConfigurationOptions<T>
  private readonly live: Live<T>
  private readonly reading: Reading<T>

  private constructor(
    client: Client,
    path: string,
    options: ConfigurationOptions<T>,
    live: Live<T>,
    reading: Reading<T>,
  ) {
    this.client = client
    this.path = path
    this.options = options
    this.live = live
    this.reading = reading
  }

  /**
   * Resolves when there is a value: that of the node, or the fallback. Rejects if the codec refuses the
   * data and there is no fallback.
   *
   *     const codec = json<{ rate: number }>()
   *     await using limits = await Configuration.open(client, '/limits', { codec, fallback: { rate: 5 } })
   */
  static async open<T>(
    client: Client,
    path: string,
    options: ConfigurationOptions<T>,
  ): Promise<Configuration<T>> {
    const names = { fallback: true, onProblem: true, ...callNames } as const
    const codec = codecOption('Configuration', options, names)
    const { signal, timeoutMs, onProblem } = options
    const reading = new Reading(client, { ...options, codec: codecOfNode(codec, path) })
    const live = await openLiveNode(client, path, (node) => reading.interpret(node), {
      signal,
      timeoutMs,
      onProblem,
    })
    return new Configuration(client, path, options, live, reading)
  }

  get current(): T {
    return this.live.current
  }

  get signal(): AbortSignal {
    return this.live.signal
  }

  /** Why the data of the node is not the value; undefined if it is. */
  get problem(): unknown {
    return this.reading.problem
  }

  /** The node's stat when it was last read; undefined if the node does not exist. */
  get stat(): Stat | undefined {
    return this.reading.stat
  }

  /**
   * Calls back at every change. Returns a function that removes the listener.
   *
   *     const stop = limits.onChange(({ rate }) => limiter.setRate(rate))
   */
  onChange(listener: LiveListener<T>): () => void {
    return this.live.onChange(listener)
  }

  /**
   * Starts with the current value; a slow reader gets the newest value, not each one.
   *
   *     for await (const { rate } of limits.values({ signal })) limiter.setRate(rate)
   */
  values(options?: Pick<CallOptions, 'signal'>): AsyncIterableIterator<T, undefined> {
    return this.live.values(options)
  }

  /**
   * The first value from now on for which this returns true.
   *
   *     await limits.until(({ rate }) => rate > 0, { timeoutMs: 60_000 })
   */
  until(isSo: (value: T) => boolean, options?: CallOptions): Promise<T> {
    return this.live.until(isSo, options)
  }

  /**
   * Sets the value. Resolves when the server has it; this and other programs see it a moment later.
   *
   *     await limits.set({ rate: 10 })
   */
  set(value: T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.write((atom, limits) => atom.set(value, limits), options)
  }

  /**
   * Makes the new value of the old one, again if another program changes it meanwhile.
   *
   *     await limits.update((now) => ({ ...now, rate: now.rate * 2 }))
   */
  update(change: (value: T) => T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.write((atom, limits) => atom.update(change, limits), options)
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this.values()
  }

  /**
   * Stops updates; the last value stays.
   *
   *     await limits.close() // or: await using limits = await Configuration.open(...)
   */
  close(): Promise<void> {
    return this.live.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private write(
    act: (value: AtomicValue<T>, limits: CallOptions) => Promise<Versioned<T>>,
    limits: CallOptions,
  ): Promise<Versioned<T>> {
    const { client, path, options } = this
    const { codec, fallback } = options
    return limited(
      client,
      limits,
      async (signal) => {
        // A write begins with the current value if there is no node.
        const initial = fallback ?? this.current
        const value = new AtomicValue<T>(client, path, { codec, initial })
        try {
          return await act(value, { signal })
        } finally {
          // Closing continues in the background when the caller gives up.
          await orAborted(value.close(), signal).catch(() => {})
        }
      },
      true,
    )
  }
}

/** The value of a node, and what is wrong with it. */
class Reading<T> {
  problem: unknown
  stat: Stat | undefined
  private hasValue = false
  private readonly client: Client
  private readonly options: ConfigurationOptions<T>

  constructor(client: Client, options: ConfigurationOptions<T>) {
    this.client = client
    this.options = options
  }

  interpret(node: NodeState | undefined): { readonly value: T } | undefined {
    const { codec, fallback, onProblem } = this.options
    this.stat = node?.stat
    this.problem = undefined
    if (node === undefined) return fallback === undefined ? undefined : { value: fallback }
    try {
      const value = codec.decode(node.data)
      this.hasValue = true
      return { value }
    } catch (problem) {
      if (!this.hasValue && fallback === undefined) throw problem
      this.problem = problem
      tellProblem(this.client, onProblem, { path: node.path, problem, stat: node.stat })
      return this.hasValue || fallback === undefined ? undefined : { value: fallback }
    }
  }
}
