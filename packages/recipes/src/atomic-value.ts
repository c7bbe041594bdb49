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
import { pause } from '@zabra/client/internal'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { makeFirst } from './nodes/first-value.ts'
import { limited, orAborted } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode, type LiveOptions } from './live/live-node.ts'
import { persist, type NodeState } from './nodes/node.ts'
import { Serial } from './waiting/serial.ts'
import { Witness } from './nodes/witness.ts'

export interface Versioned<T> {
  readonly value: T
  /**
   * Another one after every change: it grows, and goes on from -2147483648 after 2147483647. Begins
   * anew at 0 where the node is deleted and made again; undefined where there is no node.
   */
  readonly version: number | undefined
}

export interface AtomicValueOptions<T> {
  readonly codec: Codec<T>
  /** What it is before anybody has set it. */
  readonly initial: T
}

export interface AtomicReadOptions extends CallOptions {
  /** `linearizable` by default: the value is at least as new as the question. */
  readonly consistency?: Consistency | undefined
}

interface Found {
  readonly data: Uint8Array
  readonly version: number
}

/** After so many lost races each further attempt waits a while, by chance. */
const racesBeforeWaiting = 2
const waitMsMax = 64
/** To a server this says that the version does not matter. A node has it once in four billion changes. */
const anyVersion = -1

/**
 * A value that several clients change, each change based on the one before it. A change happens
 * once, also where a reply is lost.
 */
export class AtomicValue<T> implements AsyncDisposable {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>
  private readonly initial: T
  private readonly serial = new Serial()
  private readonly witness: Witness
  /** When nothing is left of how the node was made. */
  private cleared = Promise.resolve()

  constructor(client: Client, path: string, { codec, initial }: AtomicValueOptions<T>) {
    this.client = client.patient
    this.path = path
    this.codec = codecOfNode(codec, path)
    this.initial = initial
    // Who has seen the value does not make it again where it is gone.
    const isGone = () => Promise.reject(new OperationError('noNode', { path }))
    this.witness = new Witness(client, path, isGone)
  }

  /** Over the next connection, or in the next session, where this one is lost. */
  async get({ consistency, ...limits }: AtomicReadOptions = {}): Promise<Versioned<T>> {
    const found = await limited(this.client, limits, (signal) => this.read(signal, consistency))
    return { value: this.decode(found?.data), version: found?.version }
  }

  /** Whatever it was before, even if that cannot be understood. */
  set(value: T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.change(() => value, options)
  }

  /** Sets it if it is still as it was read; undefined where it is not. */
  compareAndSet(
    expected: Versioned<T>,
    value: T,
    options: CallOptions = {},
  ): Promise<Versioned<T> | undefined> {
    return this.inTurn(options, (signal) => this.trySet(expected.version, value, signal))
  }

  /**
   * Sets it to what the function makes of it. The function is called again, with a newer value,
   * where somebody else was faster; what it throws leaves the value as it is.
   */
  update(change: (value: T) => T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.change((data) => change(this.decode(data)), options)
  }

  /** The value, kept up to date until that is closed. */
  live(options: LiveOptions = {}): Promise<Live<Versioned<T>>> {
    const interpret = (node: NodeState | undefined): { value: Versioned<T> } => ({
      value:
        node === undefined
          ? { value: this.initial, version: undefined }
          : { value: this.codec.decode(node.data), version: node.stat.version },
    })
    return openLiveNode(this.client, this.path, interpret, options)
  }

  /** Takes away what this object keeps on the tree. The value stays. */
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
        ? // As a condition this would be none; so the condition is what it leads to.
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

  /** The node comes with the value: nobody sees it with another one. */
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
