import type { CallOptions, Client, Codec } from '@zabra/client'
import { checkOneOf, checkOptionNames, checkPath } from '@zabra/client/internal'
import { AtomicValue, type AtomicReadOptions } from './atomic-value.ts'
import { codecOfNode } from './nodes/codec-of-node.ts'
import { limited } from './waiting/limits.ts'
import type { Live } from './live/live.ts'
import { openLiveNode, type LiveOptions } from './live/live-node.ts'
import type { NodeState } from './nodes/node.ts'

/**
 * The format of the number in the node. `long`: 8 bytes, as in Curator's DistributedAtomicLong.
 * `int`: 4 bytes, as in its DistributedAtomicInteger and SharedCount. Both are big-endian.
 */
export type CounterLayout = 'long' | 'int'

export interface CounterOptions {
  /** The number before anybody has counted; 0 by default. */
  readonly initial?: bigint | number | undefined
  /** `long` by default. */
  readonly layout?: CounterLayout | undefined
}

/**
 * A number that several clients increment and decrement. No count is lost, and none happens twice.
 *
 *     await using counter = new Counter(client, '/orders/count')
 *     console.log(await counter.increment()) // 1n
 */
export class Counter implements AsyncDisposable {
  readonly path: string
  private readonly client: Client
  private readonly initial: bigint
  private readonly codec: Codec<bigint>
  private readonly value: AtomicValue<bigint>

  constructor(client: Client, path: string, options: CounterOptions = {}) {
    checkOptionNames('Counter', options, { initial: true, layout: true })
    const { initial = 0n, layout = 'long' } = options
    checkOneOf('layout', layout, ['long', 'int'])
    this.client = client.patient
    this.path = checkPath(path)
    this.initial = BigInt(initial)
    this.codec = codecOfNode(codecs[layout], path)
    this.value = new AtomicValue(client, path, { codec: codecs[layout], initial: this.initial })
  }

  /**
   * The number; continues over the next connection, or in the next session.
   *
   *     console.log(await counter.get()) // 17n
   */
  async get(options: AtomicReadOptions = {}): Promise<bigint> {
    const { value } = await this.value.get(options)
    return value
  }

  /**
   * Resolves to the new number. Rejects with a RangeError if that is out of range.
   *
   *     console.log(await counter.add(5)) // 22n
   */
  async add(amount: bigint | number, options: CallOptions = {}): Promise<bigint> {
    const step = BigInt(amount)
    const { value } = await this.value.update((before) => before + step, options)
    return value
  }

  /**
   * Adds 1; resolves to the new number.
   *
   *     const ticket = await counter.increment()
   */
  increment(options: CallOptions = {}): Promise<bigint> {
    return this.add(1n, options)
  }

  /**
   * Subtracts 1; resolves to the new number.
   *
   *     const left = await counter.decrement()
   */
  decrement(options: CallOptions = {}): Promise<bigint> {
    return this.add(-1n, options)
  }

  /**
   * Sets it, whatever it was.
   *
   *     await counter.set(0)
   */
  async set(value: bigint | number, options: CallOptions = {}): Promise<void> {
    await this.value.set(BigInt(value), options)
  }

  /**
   * Sets it if it equals a number; resolves to whether it did.
   *
   *     if (await counter.compareAndSet(10, 0)) console.log('a new round')
   */
  compareAndSet(
    expected: bigint | number,
    value: bigint | number,
    options: CallOptions = {},
  ): Promise<boolean> {
    const set = async (signal: AbortSignal): Promise<boolean> => {
      for (;;) {
        const before = await this.value.get({ signal })
        if (before.value !== BigInt(expected)) return false
        const after = await this.value.compareAndSet(before, BigInt(value), { signal })
        if (after !== undefined) return true
      }
    }
    return limited(this.client, options, set, true)
  }

  /**
   * The number, kept up to date until it is closed.
   *
   *     await using orders = await counter.live()
   *     orders.onChange((count) => console.log(count))
   */
  live(options: LiveOptions = {}): Promise<Live<bigint>> {
    const interpret = (node: NodeState | undefined): { value: bigint } => ({
      value: node === undefined ? this.initial : this.codec.decode(node.data),
    })
    return openLiveNode(this.client, this.path, interpret, options)
  }

  /**
   * Removes the nodes of this object. The number stays.
   *
   *     await counter.close() // or: await using counter = new Counter(...)
   */
  close(): Promise<void> {
    return this.value.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const codecs: Record<CounterLayout, Codec<bigint>> = { long: integers(8), int: integers(4) }

function integers(byteLength: 4 | 8): Codec<bigint> {
  const bits = byteLength * 8
  return {
    encode(value) {
      if (BigInt.asIntN(bits, value) !== value)
        throw new RangeError(`${value} does not fit into ${byteLength} bytes`)
      const bytes = new Uint8Array(8)
      new DataView(bytes.buffer).setBigInt64(0, value)
      return bytes.subarray(8 - byteLength)
    },
    decode(bytes) {
      // A node without data counts as 0, as in Curator.
      if (bytes.length === 0) return 0n
      if (bytes.length !== byteLength)
        throw new RangeError(`${bytes.length} bytes instead of a number of ${byteLength} bytes`)
      let value = 0n
      for (const byte of bytes) value = (value << 8n) | BigInt(byte)
      return BigInt.asIntN(bits, value)
    },
  }
}
