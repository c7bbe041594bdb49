import type { CallOptions, Client, Codec, Stat } from '@zabra/client'
import { AtomicValue, type Versioned } from './atomic-value.ts'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { limited, orAborted } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode } from './live/live-node.ts'
import type { NodeState } from './nodes/node.ts'
import { tellProblem, type ProblemListener } from './live/problem.ts'

export interface ConfigurationOptions<T> extends CallOptions {
  /** `json(schema)` for what a schema is to check. */
  readonly codec: Codec<T>
  /** What holds where there is no node. Without it opening waits for the node. */
  readonly fallback?: T | undefined
  /** Hears of data that the codec does not understand: the last good value stays. */
  readonly onProblem?: ProblemListener | undefined
}

/** A value on the tree, typed and live. */
export interface Configuration<T> extends Live<T> {
  readonly path: string
  /** Why what is on the tree now is not the value; undefined where it is. */
  readonly problem: unknown
  /** Of the node as it was last seen; undefined where there is none. */
  readonly stat: Stat | undefined
  /** Resolves when it is set, which is not yet when this or others have noticed. */
  set(value: T, options?: CallOptions): Promise<Versioned<T>>
  /** Changes a part of it, whatever others change meanwhile. */
  update(change: (value: T) => T, options?: CallOptions): Promise<Versioned<T>>
}

/** Opens a configuration; rejects where it cannot be understood and there is no fallback. */
export async function openConfiguration<T>(
  client: Client,
  path: string,
  options: ConfigurationOptions<T>,
): Promise<Configuration<T>> {
  const reading = new Reading(client, { ...options, codec: codecOfNode(options.codec, path) })
  const live = await openLiveNode(client, path, (node) => reading.interpret(node), options)
  // A write begins with the current value where there is no node.
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
        // What it leaves behind goes without whoever gives up waiting.
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

/** What a node says, and what is wrong with it. */
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
