import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface NetworkOptions {
  readonly delayMsMin: number
  readonly delayMsMax: number
  /** How likely what was sent at once arrives in pieces. */
  readonly splitChance: number
}

const recheckMs = 20

/** Who takes connections at an address. */
export interface Acceptor {
  accept(end: StreamEnd, from: string): void
}

/** Byte streams between named hosts: late, in pieces, cut off, or in one direction only. */
export class Network {
  readonly world: World
  readonly random: Random
  readonly options: NetworkOptions
  readonly acceptors = new Map<string, Acceptor>()
  /** `from>to` through which nothing comes. */
  private readonly blocked = new Set<string>()
  resets = 0

  constructor(world: World, random: Random, options: NetworkOptions) {
    this.world = world
    this.random = random
    this.options = options
  }

  block(from: string, to: string): void {
    this.blocked.add(`${from}>${to}`)
  }

  unblock(from: string, to: string): void {
    this.blocked.delete(`${from}>${to}`)
  }

  healAll(): void {
    this.blocked.clear()
  }

  isBlocked(from: string, to: string): boolean {
    return this.blocked.has(`${hostOf(from)}>${hostOf(to)}`)
  }

  delayMs(): number {
    const { delayMsMin, delayMsMax } = this.options
    return delayMsMin + this.random.next() * (delayMsMax - delayMsMin)
  }

  /** The caller's end at once; bytes flow when the other side has accepted. */
  connect(from: string, to: string): StreamEnd {
    const near = new StreamEnd(this, from, to)
    const far = new StreamEnd(this, to, from)
    near.far = far
    far.far = near
    // Nothing is read from it before somebody has taken it.
    far.pause()
    const knock = (): void => {
      if (near.state === 'closed') return
      if (this.isBlocked(from, to) || this.isBlocked(to, from)) {
        this.world.after(recheckMs, knock)
        return
      }
      const acceptor = this.acceptors.get(to)
      if (acceptor === undefined) {
        near.fail()
        return
      }
      acceptor.accept(far, from)
      if (near.onAccepted === undefined) return
      this.world.after(this.delayMs(), () => {
        if (near.state === 'open') near.onAccepted?.()
      })
    }
    this.world.after(this.delayMs(), knock)
    return near
  }
}

/** `server-1:quorum` is a port of `server-1`: what befalls a host befalls all its ports. */
export function hostOf(address: string): string {
  return address.split(':', 1)[0]!
}

interface Chunk {
  readonly atMs: number
  /** Undefined marks the end of the stream. */
  readonly bytes: Uint8Array | undefined
}

/** One host's end of a stream. */
export class StreamEnd {
  readonly host: string
  readonly farHost: string
  far!: StreamEnd
  /** Which life of the server took it. */
  acceptedInLife = 0
  /** `vanished`: the host lost it without a word, by a power failure for example. */
  state: 'open' | 'ended' | 'closed' | 'vanished' = 'open'
  onBytes: ((bytes: Uint8Array) => void) | undefined
  onClosed: (() => void) | undefined
  /** For a caller that waits for the other side before it says anything. */
  onAccepted: (() => void) | undefined
  /** What watchers pass along with what was sent; those who talk here do not see it. */
  readonly aside: (readonly bigint[])[] = []
  private readonly network: Network
  private readonly arriving: Chunk[] = []
  private isPumping = false
  private isPaused = false
  /** The next such piece arrives in part, and the stream is cut there. */
  private tearsAt: ((piece: Uint8Array) => boolean) | undefined
  private lastArrivalMs = 0

  constructor(network: Network, host: string, farHost: string) {
    this.network = network
    this.host = host
    this.farHost = farHost
  }

  send(bytes: Uint8Array): void {
    if (this.state !== 'open') return
    const { random, options } = this.network
    let rest: Uint8Array = new Uint8Array(bytes)
    while (rest.length > 1 && random.chance(options.splitChance)) {
      const cut = random.between(1, rest.length - 1)
      this.far.arrive(rest.subarray(0, cut))
      rest = rest.subarray(cut)
    }
    this.far.arrive(rest)
  }

  /** Closes after what was sent has arrived. */
  end(): void {
    if (this.state !== 'open') return
    this.state = 'ended'
    this.far.arrive(undefined)
  }

  /** Closes at once; the other side hears of it when the network lets it. */
  close(): void {
    if (this.state === 'closed' || this.state === 'vanished') return
    this.state = 'closed'
    this.far.hearOfReset()
  }

  /** The host is gone and says nothing. */
  vanish(): void {
    if (this.state !== 'closed') this.state = 'vanished'
  }

  /** The network cuts the stream: of what is under way, only a first part may still arrive. */
  reset(): void {
    this.network.resets++
    for (const end of [this, this.far]) {
      end.arriving.length = this.network.random.between(0, end.arriving.length)
      const last = end.arriving.pop()
      if (last?.bytes !== undefined) {
        const cut = this.network.random.between(0, last.bytes.length)
        end.arriving.push({ atMs: last.atMs, bytes: last.bytes.subarray(0, cut) })
      }
      end.arrive(undefined)
    }
  }

  /** As `reset`, the moment that such a piece comes: in the midst of it. */
  tear(at: (piece: Uint8Array) => boolean): void {
    this.tearsAt = at
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.pump()
  }

  fail(): void {
    if (this.state === 'closed' || this.state === 'vanished') return
    this.state = 'closed'
    this.onClosed?.()
  }

  private hearOfReset(): void {
    this.arriving.length = 0
    this.arrive(undefined)
  }

  private arrive(bytes: Uint8Array | undefined): void {
    const { world } = this.network
    const atMs = Math.max(this.lastArrivalMs, world.nowMs + this.network.delayMs())
    this.lastArrivalMs = atMs
    this.arriving.push({ atMs, bytes })
    this.pump()
  }

  private pump(): void {
    if (this.isPumping) return
    const head = this.arriving[0]
    if (head === undefined) return
    const { world } = this.network
    this.isPumping = true
    world.after(Math.max(0, head.atMs - world.nowMs), () => {
      this.isPumping = false
      this.deliver()
    })
  }

  private deliver(): void {
    const { network } = this
    if (network.isBlocked(this.farHost, this.host)) {
      this.retry()
      return
    }
    if (this.state === 'closed') {
      // What comes for a stream that is closed is answered so, whatever became of the first word.
      if (this.far.state === 'open') this.far.hearOfReset()
      return
    }
    if (this.state === 'vanished') {
      // A host that is back knows nothing of the stream and says so; one that is down is silent.
      if (network.acceptors.has(hostOf(this.host))) this.far.hearOfReset()
      else this.retry()
      return
    }
    const head = this.arriving[0]
    if (head === undefined || this.isPaused) return
    if (head.atMs > network.world.nowMs) {
      this.pump()
      return
    }
    this.arriving.shift()
    if (head.bytes === undefined) {
      this.fail()
      return
    }
    if (head.bytes.length > 1 && this.tearsAt?.(head.bytes) === true) {
      this.tearsAt = undefined
      this.arriving.length = 0
      this.onBytes?.(head.bytes.subarray(0, network.random.between(1, head.bytes.length - 1)))
      this.reset()
    } else if (head.bytes.length > 0) this.onBytes?.(head.bytes)
    this.pump()
  }

  private retry(): void {
    if (this.isPumping) return
    this.isPumping = true
    this.network.world.after(recheckMs, () => {
      this.isPumping = false
      this.deliver()
    })
  }
}
