import type { CallOptions, Client, Codec, Stat } from '@zabra/client'
import { AtomicValue, type Versioned } from './atomic-value.ts'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { limited, orAborted } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode } from './live/live-node.ts'
import type { NodeState } from './nodes/node.ts'
import { tellProblem, type ProblemListener } from './live/problem.ts'

export interface ConfigurationOptions<T> extends CallOptions {
  /** Use `json(schema)` to validate values. */
  readonly codec: Codec<T>
  /** The value without a node. If left out, opening waits for the node. */
  readonly fallback?: T | undefined
  /** Called for data that the codec cannot decode: the last valid value stays. */
  readonly onProblem?: ProblemListener | undefined
}

/** A typed, live value in a node. */
export interface Configuration<T> extends Live<T> {
  readonly path: string
  /** Why the node's current data is invalid; undefined if it is valid. */
  readonly problem: unknown
  /** The last seen version of the node; undefined without a node. */
  readonly stat: Stat | undefined
  /** Resolves when it is set, which may be before this or other clients notice. */
  set(value: T, options?: CallOptions): Promise<Versioned<T>>
  /** Changes a part of it, keeping concurrent changes of others. */
  update(change: (value: T) => T, options?: CallOptions): Promise<Versioned<T>>
}

/** Opens a configuration; rejects if its data is invalid and there is no fallback. */
export async function openConfiguration<T>(
  client: Client,
  path: string,
  options: ConfigurationOptions<T>,
): Promise<Configuration<T>> {
  const reading = new Reading(client, { ...options, codec: codecOfNode(options.codec, path) })
  const live = await openLiveNode(client, path, (node) => reading.interpret(node), options)
  // Without a node, an update starts with the current value.
  const initialOf = (): T => options.fallback ?? live.current
  const writer = (): AtomicValue<T> =>
    new AtomicValue(client, path, { codec: options.codec, initial: initialOf() })
  const write = (
    act: (value: AtomicValue<T>, limits: CallOptions) => Promise<Versioned<T>>,
    limits: CallOptions = {},
  ): Promise<Versioned<T>> => {
    const writeOnce = async (signal: AbortSignal): Promise<Versioned<T>> => {
      const value = writer()
      try {
        return await act(value, { signal })
      } finally {
        // It cleans up even after the caller gives up waiting.
        await orAborted(value.close(), signal).catch(() => {})
      }
    }
    return limited(client, limits, writeOnce, true)
  }
  return {
    path,
    get current() {
      return live.current
    },
    signal: live.signal,
    get problem() {
      return reading.problem
    },
    get stat() {
      return reading.stat
    },
    onChange: (listener) => live.onChange(listener),
    values: (limits) => live.values(limits),
    until: (isSo, limits) => live.until(isSo, limits),
    set: (value, limits) => write((atom, rest) => atom.set(value, rest), limits),
    update: (change, limits) => write((atom, rest) => atom.update(change, rest), limits),
    [Symbol.asyncIterator]: () => live[Symbol.asyncIterator](),
    close: () => live.close(),
    [Symbol.asyncDispose]: () => live.close(),
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
