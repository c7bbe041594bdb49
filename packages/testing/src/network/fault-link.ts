import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Direction, DirectionOption, Faults } from './faults.ts'
import { freePorts } from './free-ports.ts'
import { cleanLane, Pipe, type Lane } from './lane.ts'

const loopback = '127.0.0.1'
const bindTriesMax = 5
const dialPauseMs = 20

export interface Target {
  readonly host: string
  readonly port: number
}

/** Called with the bytes of all connections; a returned value is sent instead. */
export type Interceptor = (bytes: Uint8Array, direction: Direction) => Uint8Array | undefined | void

interface Connection {
  readonly near: Socket
  /** Undefined while it is being opened. */
  far: Socket | undefined
  pipes: readonly Pipe[]
}

/** A port of the loopback interface that leads to one server, with faults on demand. */
export class FaultLink implements Faults {
  readonly port: number
  private target: Target | undefined
  private readonly dialMsMax: number
  private listener: Server | undefined
  private readonly held = new Set<Connection>()
  private readonly lanes: Record<Direction, Lane> = { toServer: cleanLane(), toClient: cleanLane() }
  private isRefusing = false
  private isStopped = false
  private opening: Promise<void> = Promise.resolve()

  private constructor(port: number, target: Target | undefined, dialMsMax: number) {
    this.port = port
    this.target = target
    this.dialMsMax = dialMsMax
  }

  /**
   * Without a target it refuses connections. For `dialMsMax` after the first attempt it retries a
   * target that refuses.
   */
  static async open(target: Target | undefined, dialMsMax = 0): Promise<FaultLink> {
    for (let tries = 1; ; tries++) {
      const [port] = await freePorts(1)
      const link = new FaultLink(port!, target, dialMsMax)
      try {
        await link.listenOrNot()
        return link
      } catch (error) {
        // Another process has taken the port.
        if (tries === bindTriesMax) throw error
      }
    }
  }

  get address(): string {
    return `${loopback}:${this.port}`
  }

  /** The number of open connections. */
  get connections(): number {
    return this.held.size
  }

  /** The number of bytes that have passed. */
  bytes(direction: Direction): number {
    return this.lanes[direction].bytes
  }

  /** Changes the target for new connections; undefined for none. Open connections stay. */
  leadTo(target: Target | undefined): Promise<void> {
    this.target = target
    return this.listenOrNot()
  }

  delay(
    ms: number,
    { direction, jitterMs = 0 }: DirectionOption & { readonly jitterMs?: number | undefined } = {},
  ): void {
    checkNumber('delay', ms, 0)
    checkNumber('jitterMs', jitterMs, 0)
    this.change(direction, { delayMs: ms, jitterMs })
  }

  limit(bytesPerSecond: number, { direction }: DirectionOption = {}): void {
    checkNumber('bytesPerSecond', bytesPerSecond, 1)
    this.change(direction, { bytesPerSecond })
  }

  fragment(bytesMax: number, { direction }: DirectionOption = {}): void {
    checkNumber('bytesMax', bytesMax, 1)
    this.change(direction, { pieceBytesMax: Math.floor(bytesMax) })
  }

  hold({ direction }: DirectionOption = {}): void {
    this.change(direction, { isHeld: true })
  }

  release({ direction }: DirectionOption = {}): void {
    this.change(direction, { isHeld: false })
  }

  reset(): void {
    for (const connection of this.held) end(connection)
  }

  resetAfter(bytes: number, { direction }: { readonly direction: Direction }): Promise<void> {
    checkNumber('bytes', bytes, 1)
    this.lanes[direction].reset?.givenUp()
    const reset = new Promise<void>((happened, reject) => {
      const givenUp = (): void => reject(new Error('no connection was reset: it was healed before'))
      this.change(direction, { reset: { bytesLeft: Math.floor(bytes), happened, givenUp } })
    })
    // A test need not wait for it.
    reset.catch(() => {})
    return reset
  }

  /** Installs an interceptor, or removes it if undefined. */
  intercept(interceptor: Interceptor | undefined): void {
    for (const [direction, lane] of lanesOf(this.lanes)) {
      lane.intercept = interceptor && ((bytes) => interceptor(bytes, direction) ?? undefined)
    }
  }

  refuse(): void {
    this.isRefusing = true
    this.listenOrNot().catch(() => {})
  }

  cut(): void {
    this.refuse()
    this.reset()
  }

  heal(): Promise<void> {
    this.isRefusing = false
    for (const [, lane] of lanesOf(this.lanes)) {
      const { bytes, intercept, reset } = lane
      reset?.givenUp()
      Object.assign(lane, cleanLane(bytes), { intercept })
    }
    this.changed()
    return this.listenOrNot()
  }

  /** Closes every connection and frees its port. */
  async stop(): Promise<void> {
    this.isStopped = true
    for (const [, { reset }] of lanesOf(this.lanes)) reset?.givenUp()
    await this.listenOrNot()
    this.reset()
  }

  private change(direction: Direction | undefined, changes: Partial<Lane>): void {
    for (const [name, lane] of lanesOf(this.lanes)) {
      if (direction === undefined || direction === name) Object.assign(lane, changes)
    }
    this.changed()
  }

  private changed(): void {
    for (const { pipes } of this.held) for (const pipe of pipes) pipe.changed()
  }

  /** A listener that closes refuses connections at once; listening again takes a moment. */
  private listenOrNot(): Promise<void> {
    const wants = !this.isRefusing && !this.isStopped && this.target !== undefined
    if (!wants) {
      this.listener?.close()
      this.listener = undefined
      return Promise.resolve()
    }
    if (this.listener !== undefined) return this.opening
    const options = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true }
    const listener = createServer(options, (near) => this.accept(near))
    this.listener = listener
    this.opening = new Promise((resolve, reject) => {
      listener.once('error', reject)
      // It may be closed before it listens.
      listener.once('close', resolve)
      listener.listen(this.port, loopback, resolve)
    })
    return this.opening
  }

  private accept(near: Socket): void {
    const connection: Connection = { near, far: undefined, pipes: [] }
    this.held.add(connection)
    near.on('error', () => {})
    near.once('close', () => this.held.delete(connection))
    void this.join(connection, performance.now() + this.dialMsMax)
  }

  private async join(connection: Connection, untilMs: number): Promise<void> {
    const { near } = connection
    const far = await this.dial(near, untilMs)
    if (far === undefined) {
      end(connection)
      return
    }
    connection.far = far
    if (near.destroyed) {
      end(connection)
      return
    }
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {})
      one.on('close', (hadError) => {
        // If it ended without an error, earlier bytes are still in transit.
        if (hadError) end(connection)
        else if (other.writableEnded || other.destroyed) other.destroy()
      })
    }
    const onReset = (): void => end(connection)
    const { toServer, toClient } = this.lanes
    connection.pipes = [
      new Pipe(near, far, toServer, onReset),
      new Pipe(far, near, toClient, onReset),
    ]
  }

  private async dial(near: Socket, untilMs: number): Promise<Socket | undefined> {
    for (;;) {
      const socket = await this.tryDial()
      if (socket !== undefined) return socket
      if (near.destroyed || this.isStopped || performance.now() > untilMs) return undefined
      await new Promise((resolve) => setTimeout(resolve, dialPauseMs))
    }
  }

  private tryDial(): Promise<Socket | undefined> {
    const { target } = this
    if (target === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const socket = connect({ ...target, allowHalfOpen: true, noDelay: true })
      socket.once('connect', () => resolve(socket))
      socket.on('error', () => {
        socket.destroy()
        resolve(undefined)
      })
    })
  }
}

function end({ near, far }: Connection): void {
  near.resetAndDestroy()
  far?.resetAndDestroy()
}

function lanesOf(lanes: Record<Direction, Lane>): [Direction, Lane][] {
  return Object.entries(lanes) as [Direction, Lane][]
}

function checkNumber(name: string, value: number, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new TypeError(`${name} is a number, at least ${least}: ${String(value)} is not`)
}
