import {
  isRefusal,
  type CallOptions,
  type Client,
  type Codec,
  type Consistency,
} from '@zabra/client'
import { limited, orAborted } from './limits.ts'
import type { Live } from './live.ts'
import { openLiveNode } from './live-node.ts'
import { persist, readNode, type NodeState } from './node.ts'
import { below, parentOf } from './parents.ts'
import { pause } from './pause.ts'
import { Serial } from './serial.ts'
import { Witness } from './witness.ts'

export interface Versioned<T> {
  readonly value: T
  /** Grows with every change. */
  readonly version: number
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

/** Undefined where there is no node. */
interface Found {
  readonly data: Uint8Array | undefined
  readonly version: number
}

/** After so many lost races each further attempt waits a while, by chance. */
const racesBeforeWaiting = 2
const waitMsMax = 64

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

  constructor(client: Client, path: string, { codec, initial }: AtomicValueOptions<T>) {
    this.client = client.patient
    this.path = path
    this.codec = codec
    this.initial = initial
    this.witness = new Witness(client, path, () => this.make())
  }

  /** Over the next connection, or in the next session, where this one is lost. */
  async get({ consistency, ...limits }: AtomicReadOptions = {}): Promise<Versioned<T>> {
    const { data, version } = await limited(this.client, limits, (signal) =>
      this.read(signal, consistency),
    )
    return { value: this.decode(data), version }
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
    return this.inTurn(options, (signal) => this.trySet(expected, value, signal))
  }

  /**
   * Sets it to what the function makes of it. The function is called again, with a newer value,
   * where somebody else was faster; what it throws leaves the value as it is.
   */
  update(change: (value: T) => T, options: CallOptions = {}): Promise<Versioned<T>> {
    return this.change((data) => change(this.decode(data)), options)
  }

  /** The value, kept up to date until that is disposed of. */
  live(options: CallOptions = {}): Promise<Live<Versioned<T>>> {
    const interpret = (node: NodeState | undefined): { value: Versioned<T> } => ({
      value:
        node === undefined
          ? { value: this.initial, version: -1 }
          : { value: this.codec.decode(node.data), version: node.stat.version },
    })
    return openLiveNode(this.client, this.path, interpret, options)
  }

  /** Takes away what this object keeps on the tree. The value stays. */
  close(): Promise<void> {
    return this.serial.run(() => this.witness.close())
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
        const after = await this.trySet(before, valueAfter(before.data), signal)
        if (after !== undefined) return after
      }
    })
  }

  private async read(
    signal: AbortSignal,
    consistency: Consistency = 'linearizable',
  ): Promise<Found> {
    const { client, path } = this
    try {
      const { data, stat } = await persist(client, signal, () =>
        client.get(path, { consistency, signal }),
      )
      return { data, version: stat.version }
    } catch (error) {
      // A version that no node has: the first change goes by whether the node is there.
      if (isRefusal(error, 'noNode')) return { data: undefined, version: -1 }
      throw error
    }
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
    expected: { readonly version: number },
    value: T,
    signal: AbortSignal,
  ): Promise<Versioned<T> | undefined> {
    if (expected.version < 0 && !(await this.isInitial(signal))) return undefined
    const ifVersion = Math.max(expected.version, 0)
    const data = this.codec.encode(value)
    try {
      await this.witness.commit((tx) => tx.set(this.path, data, { ifVersion }), signal)
      return { value, version: ifVersion + 1 }
    } catch (error) {
      if (isRefusal(error, 'badVersion', 'noNode') && error.path === this.path) return undefined
      throw error
    }
  }

  /** Whether the node is as this object makes it, after it was made. */
  private async isInitial(signal: AbortSignal): Promise<boolean> {
    await this.make(signal)
    const node = await readNode(this.client, this.path, signal, 'linearizable')
    const wanted = this.codec.encode(this.initial)
    if (node === undefined || node.stat.version > 0) return false
    return wanted.length === node.data.length && wanted.every((byte, i) => byte === node.data[i])
  }

  /** Made with the initial value, so that it does not matter by whom, nor how often. */
  private make(signal?: AbortSignal): Promise<void> {
    const { client, path } = this
    const parent = parentOf(path)
    const create = () => client.create(path, this.codec.encode(this.initial), { signal })
    return persist(client, signal, async () => {
      try {
        await below(client, parent, { signal }, create)
      } catch (error) {
        if (!isRefusal(error, 'nodeExists')) throw error
      }
    })
  }

  private waitAWhile(races: number, signal: AbortSignal): Promise<void> {
    const { host } = this.client
    const ms = Math.min(waitMsMax, 2 ** (races - racesBeforeWaiting)) * host.random()
    return pause(this.client, ms, signal)
  }
}
