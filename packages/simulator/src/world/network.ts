import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface NetworkOptions {
  readonly delayMsMin: number
  readonly delayMsMax: number
  /** How likely what was sent at once arrives in pieces. */
  readonly splitChance: number
}

/** Traffic that waited for a blocked direction continues within this time. */
const reopenMsMax = 20

/** Accepts connections at an address. */
export interface Acceptor {
  accept(end: StreamEnd, from: string): void
}

/**
 * Byte streams between named hosts, with delays, splits, resets, and directions that can be
 * blocked.
 */
export class Network {
  readonly world: World
  readonly random: Random
  readonly options: NetworkOptions
  private readonly acceptors = new Map<string, Acceptor>()
  /** Callbacks for when a blocked direction `from>to` is open again. */
  private readonly blocked = new Map<string, (() => void)[]>()
  /** Callbacks for when a host is up again. */
  private readonly waitingForHost = new Map<string, (() => void)[]>()
  resets = 0
  /** How many times longer than usual everything takes to arrive. */
  slowness = 1

  constructor(world: World, random: Random, options: NetworkOptions) {
    this.world = world
    this.random = random
    this.options = options
  }

  /** Starts accepting connections at an address. */
  listen(address: string, acceptor: Acceptor): void {
    this.acceptors.set(address, acceptor)
    this.goOn(this.waitingForHost.get(address))
    this.waitingForHost.delete(address)
  }

  unlisten(address: string): void {
    this.acceptors.delete(address)
  }

  block(from: string, to: string): void {
    const way = wayOf(from, to)
    if (!this.blocked.has(way)) this.blocked.set(way, [])
  }

  unblock(from: string, to: string): void {
    const way = wayOf(from, to)
    const waiting = this.blocked.get(way)
    this.blocked.delete(way)
    this.goOn(waiting)
  }

  healAll(): void {
    const waiting = [...this.blocked.values()].flat()
    this.blocked.clear()
    this.goOn(waiting)
  }

  /** Runs `then` some time after this direction is open again; false if it is open. */
  waitForWay(fromHost: string, toHost: string, then: () => void): boolean {
    if (this.blocked.size === 0) return false
    const waiting = this.blocked.get(wayOf(fromHost, toHost))
    waiting?.push(then)
    return waiting !== undefined
  }

  /** Runs `then` once a host that is down accepts connections again; false if it is up. */
  waitForHost(host: string, then: () => void): boolean {
    if (this.acceptors.has(host)) return false
    const waiting = this.waitingForHost.get(host)
    if (waiting === undefined) this.waitingForHost.set(host, [then])
    else waiting.push(then)
    return true
  }

  private goOn(waiting: readonly (() => void)[] = []): void {
    for (const then of waiting) this.world.after(this.random.next() * reopenMsMax, then)
  }

  delayMs(): number {
    const { delayMsMin, delayMsMax } = this.options
    return (delayMsMin + this.random.next() * (delayMsMax - delayMsMin)) * this.slowness
  }

  /** Returns the caller's end at once; bytes flow when the other side has accepted. */
  connect(from: string, to: string): StreamEnd {
    const near = new StreamEnd(this, from, to)
    const far = new StreamEnd(this, to, from)
    near.far = far
    far.far = near
    // Nothing is read from it before it is accepted.
    far.pause()
    const knock = (): void => {
      if (near.state === 'closed') return
      if (this.waitForWay(near.name, near.farName, knock)) return
      if (this.waitForWay(near.farName, near.name, knock)) return
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

/** `server-1:quorum` is a port of `server-1`: faults of a host affect all its ports. */
function hostOf(address: string): string {
  const end = address.indexOf(':')
  return end < 0 ? address : address.slice(0, end)
}

function wayOf(from: string, to: string): string {
  return `${from}>${to}`
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
  /** Both names are without ports. */
  readonly name: string
  readonly farName: string
  far!: StreamEnd
  /** The life of the server that accepted it. */
  acceptedInLife = 0
  /** `vanished`: the host lost it silently, for example by a power failure. */
  state: 'open' | 'ended' | 'closed' | 'vanished' = 'open'
  onBytes: ((bytes: Uint8Array) => void) | undefined
  onClosed: (() => void) | undefined
  /** For a caller that waits until the other side has accepted. */
  onAccepted: (() => void) | undefined
  /** Notes of observers that travel with the bytes; the two sides do not see them. */
  readonly aside: (readonly bigint[])[] = []
  private readonly network: Network
  private readonly arriving: Chunk[] = []
  private isPumping = false
  private isPaused = false
  /** The next piece that matches arrives in part, and the stream is cut there. */
  private tearsAt: ((piece: Uint8Array) => boolean) | undefined
  private lastArrivalMs = 0

  constructor(network: Network, host: string, farHost: string) {
    this.network = network
    this.host = host
    this.farHost = farHost
    this.name = hostOf(host)
    this.farName = hostOf(farHost)
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

  /** Closes after everything sent has arrived. */
  end(): void {
    if (this.state !== 'open') return
    this.state = 'ended'
    this.far.arrive(undefined)
  }

  /** Closes at once; the other side learns of it when the network lets it. */
  close(): void {
    if (this.state === 'closed' || this.state === 'vanished') return
    this.state = 'closed'
    this.far.hearOfReset()
  }

  /** The host is gone and says nothing. */
  vanish(): void {
    if (this.state !== 'closed') this.state = 'vanished'
  }

  /** The network cuts the stream: of the bytes in transit only a first part may still arrive. */
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

  /** Like `reset`, in the middle of the next piece that matches. */
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
    world.after(Math.max(0, head.atMs - world.nowMs), this.goOn)
  }

  private deliver(): void {
    const { network } = this
    if (network.waitForWay(this.farName, this.name, this.goOn)) {
      this.isPumping = true
      return
    }
    if (this.state === 'closed') {
      // Bytes for a closed stream are answered by a reset, even if an earlier reset was lost.
      if (this.far.state === 'open') this.far.hearOfReset()
      return
    }
    if (this.state === 'vanished') {
      // A host that is back does not know the stream and says so; one that is down is silent.
      if (network.waitForHost(this.name, this.goOn)) this.isPumping = true
      else this.far.hearOfReset()
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

  private readonly goOn = (): void => {
    this.isPumping = false
    this.deliver()
  }
}
