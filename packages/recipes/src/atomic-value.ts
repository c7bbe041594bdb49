import {
  isRefusal,
  OperationError,
  type CallOptions,
  type Client,
  type Codec,
  type Consistency,
  type Stat,
  type Transaction,
} from '@zabra/client'
import { checkPath, pause } from '@zabra/client/internal'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { makeFirst } from './nodes/first-value.ts'
import { limited, orAborted } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode, type LiveOptions } from './live/live-node.ts'
import { persist, type NodeState } from './nodes/node.ts'
import { Serial } from './waiting/serial.ts'
import { Witness } from './nodes/witness.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface Versioned<T> {
  readonly value: T
  /**
   * Grows with every change, and continues at -2147483648 after 2147483647. Starts again at 0 if
   * the node is deleted and created again; undefined without a node.
   */
  readonly version: number | undefined
}

export interface AtomicValueOptions<T> {
  readonly codec: Codec<T>
  /** The value before anybody has set it. */
  readonly initial: T
}

export interface AtomicReadOptions extends CallOptions {
  /** `linearizable` by default: the value is at least as new as the call. */
  readonly consistency?: Consistency | undefined
}

interface Found {
  readonly data: Uint8Array
  readonly version: number
}

/** After this many lost races each further attempt waits for a random time. */
const racesBeforeWaiting = 2
const waitMsMax = 64
/** Servers take this version for any version. A node has it once in four billion changes. */
const anyVersion = -1

/**
 * A value that several clients change, each change based on the previous one. A change happens
 * once, even if a reply is lost.
 *
 *     await using seats = new AtomicValue(client, '/seats', { codec: json<string[]>(), initial: [] })
 *     const { value, version } = await seats.update((taken) => [...taken, '12a'])
 */
export class AtomicValue<T> implements AsyncDisposable {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>
  private readonly initial: T
  private readonly serial = new Serial()
  private readonly witness: Witness
  /** Resolves when nothing is left of how the node was created. */
  private cleared = Promise.resolve()

  constructor(client: Client, path: string, options: AtomicValueOptions<T>) {
    this.client = client.patient
    this.path = checkPath(path)
    this.codec = codecOfNode(codecOption('AtomicValue', options, { initial: true }), path)
    this.initial = options.initial
    // An object that has seen the value does not create it again after a deletion.
    const isGone = () => Promise.reject(new OperationError('noNode', { path }))
    this.witness = new Witness(client, path, isGone)
  }

  /**
   * Continues over the next connection, or in the next session.
   *
   *     const { value, version } = await seats.get({ consistency: 'linearizable' })
   */
  async get({ consistency, ...limits }: AtomicReadOptions = {}): Promise<Versioned<T>> {
    const found = await limited(this.client, limits, (signal) => this.read(signal, consistency))
    return { value: this.decode(found?.data), version: found?.version }
  }

  /**
   * Sets it regardless of the previous value, even one that cannot be decoded.
   *
   *     await seats.set(['1a', '1b'])
   */
  set(value: T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.change(() => value, options)
  }

  /**
   * Sets it if it is unchanged since it was read; otherwise undefined.
   *
   *     const seen = await seats.get()
   *     const changed = await seats.compareAndSet(seen, [...seen.value, '12a'])
   *     if (changed === undefined) console.log('somebody was faster')
   */
  compareAndSet(
    expected: Versioned<T>,
    value: T,
    options: CallOptions = {},
  ): Promise<Versioned<T> | undefined> {
    return this.inTurn(options, (signal) => this.trySet(expected.version, value, signal))
  }

  /**
   * Sets it to the result of the function. If somebody else was faster, the function is called
   * again with a newer value; if it throws, the value stays as it is.
   *
   *     const { value } = await seats.update((taken) => [...taken, '12a'])
   */
  update(change: (value: T) => T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.change((data) => change(this.decode(data)), options)
  }

  /**
   * The value, kept up to date until it is closed.
   *
   *     await using taken = await seats.live()
   *     taken.onChange(({ value }) => console.log(value.length))
   */
  live(options: LiveOptions = {}): Promise<Live<Versioned<T>>> {
    const interpret = (node: NodeState | undefined): { value: Versioned<T> } => ({
      value:
        node === undefined
          ? { value: this.initial, version: undefined }
          : { value: this.codec.decode(node.data), version: node.stat.version },
    })
    return openLiveNode(this.client, this.path, interpret, options)
  }

  /**
   * Removes the nodes of this object. The value stays.
   *
   *     await seats.close() // or: await using seats = new AtomicValue(...)
   */
  close(): Promise<void> {
    return this.serial.run(async () => {
      await Promise.all([this.witness.close(), this.cleared])
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private change(
    valueAfter: (data: Uint8Array | undefined) => T,
    options: CallOptions,
  ): Promise<Versioned<T>> {
    return this.inTurn(options, async (signal) => {
      for (let races = 0; ; races++) {
        if (races > racesBeforeWaiting) await this.waitAWhile(races, signal)
        const before = await this.read(signal)
        const after = await this.trySet(before?.version, valueAfter(before?.data), signal)
        if (after !== undefined) return after
      }
    })
  }

  private async read(
    signal: AbortSignal,
    consistency: Consistency = 'linearizable',
  ): Promise<Found | undefined> {
    const { client, path } = this
    const found = await persist(client, signal, () => client.find(path, { consistency, signal }))
    return found && { data: found.data, version: found.stat.version }
  }

  private decode(data: Uint8Array | undefined): T {
    return data === undefined ? this.initial : this.codec.decode(data)
  }

  /** Changes of one object do not race with each other. */
  private inTurn<R>(options: CallOptions, act: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const takeTurn = (signal: AbortSignal): Promise<R> => {
      const turn = this.serial.run(() => {
        signal.throwIfAborted()
        return act(signal)
      })
      return orAborted(turn, signal)
    }
    return limited(this.client, options, takeTurn, true)
  }

  private async trySet(
    version: number | undefined,
    value: T,
    signal: AbortSignal,
  ): Promise<Versioned<T> | undefined> {
    const { path } = this
    const data = this.codec.encode(value)
    if (version === undefined) return this.setFirst(value, data, signal)
    // As the server counts, with 32 bits.
    const next = (version + 1) | 0
    const change = (tx: Transaction): Transaction<[Stat, ...undefined[]]> =>
      version === anyVersion
        ? // A write with this condition would be unconditional, so the condition is the next version.
          tx.set(path, data).check(path, next)
        : tx.set(path, data, { ifVersion: version })
    try {
      const { results } = await this.witness.commit(change, signal)
      return { value, version: results?.[0].version ?? next }
    } catch (error) {
      if (isRefusal(error, 'badVersion', 'noNode') && error.path === path) return undefined
      throw error
    }
  }

  /** Creates the node with the value, so that nobody sees it with another one. */
  private async setFirst(
    value: T,
    data: Uint8Array,
    signal: AbortSignal,
  ): Promise<Versioned<T> | undefined> {
    const made = await makeFirst(this.client, this.path, data, signal)
    if (made === undefined) return undefined
    this.cleared = made.cleared
    return { value, version: 0 }
  }

  private waitAWhile(races: number, signal: AbortSignal): Promise<void> {
    const { host } = this.client
    const ms = Math.min(waitMsMax, 2 ** (races - racesBeforeWaiting)) * host.random()
    return pause(this.client.host, ms, signal)
  }
}
