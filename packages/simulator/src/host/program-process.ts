import type { Host, ServerAddress, Stream, StreamEvents } from '@zabra/client/internal'
import type { Network, StreamEnd } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import type { World } from '../world/world.ts'

export interface ProcessParts {
  readonly name: string
  readonly world: World
  readonly network: Network
  readonly random: Random
  /** The rate of its clock. */
  readonly rate: number
  /** The probability that the kernel does not accept a write at once. */
  readonly backlogChance: number
  /** Called with an error that nothing caught. */
  readonly onUncaught: (error: unknown) => void
  /** Surrounds everything that the program does. */
  readonly within?: (work: () => void) => void
}

const startMs = 30
const backlogMsMax = 20
/** The number of writes that may be queued. */
const keptMax = 3
/** Overwrites a buffer that was lent: a client that kept a part of it fails. */
const scribble = 0xee

/** One life of a program: the client's host, implemented by the simulated world. */
export class ProgramProcess implements Host {
  readonly name: string
  readonly world: World
  readonly chance: Random
  isAlive = true
  isPaused = false
  /** How often it was paused. */
  pauses = 0
  private readonly backlog: (() => void)[] = []
  private readonly streams = new Set<StreamEnd>()
  private readonly parts: ProcessParts
  private readonly startedAtMs: number

  constructor(parts: ProcessParts) {
    this.parts = parts
    this.name = parts.name
    this.world = parts.world
    this.chance = parts.random.fork('program')
    this.startedAtMs = parts.world.nowMs
  }

  // --- what befalls it ---------------------------------------------------------------------------

  pause(): void {
    this.pauses++
    this.isPaused = true
  }

  /**
   * As after a garbage collection: everything that was due in the meantime happens, one after the
   * other.
   */
  resume(): void {
    if (!this.isPaused) return
    const next = this.backlog.shift()
    if (next === undefined) {
      this.isPaused = false
      return
    }
    this.run(next)
    this.world.after(0, () => this.resume())
  }

  /** Ends at once; the kernel closes the streams, unless the machine lost power. */
  die(how: 'killed' | 'without power'): void {
    this.isAlive = false
    for (const stream of this.streams) {
      if (how === 'killed') stream.close()
      else stream.vanish()
    }
  }

  /** The network resets its connections in the middle of whatever is in transit. */
  resetConnections(): void {
    for (const stream of this.streams) stream.reset()
  }

  /** Cuts the connections at the next such piece, of which only a part arrives. */
  tearConnections(at: (piece: Uint8Array) => boolean): void {
    for (const stream of this.streams) stream.tear(at)
  }

  // --- the host of a client ----------------------------------------------------------------------

  nowMs(): number {
    return startMs + (this.world.nowMs - this.startedAtMs) * this.parts.rate
  }

  /** The same for all programs: this clock decides when something is due. */
  wallMs(): number {
    return this.world.nowMs
  }

  random(): number {
    return this.parts.random.next()
  }

  timer(ms: number, callback: () => void): () => void {
    let isOff = false
    const timer = this.world.after(ms / this.parts.rate, () =>
      this.enter(() => {
        if (!isOff) callback()
      }),
    )
    return () => {
      isOff = true
      timer.cancel()
    }
  }

  defer(callback: () => void): void {
    process.nextTick(() => this.run(callback))
  }

  open({ host }: ServerAddress, events: StreamEvents): Stream {
    const { network } = this.parts
    const end = network.connect(this.name, host)
    this.streams.add(end)
    let isClosed = false
    const hear = (act: () => void): void =>
      this.enter(() => {
        if (!isClosed) act()
      })
    end.onAccepted = () => hear(() => events.opened())
    end.onBytes = (bytes) =>
      hear(() => {
        const lent = new Uint8Array(bytes)
        events.received(lent, lent.length)
        lent.fill(scribble)
      })
    end.onClosed = () => {
      this.streams.delete(end)
      hear(() => events.closed(new Error('the stream ended')))
    }
    const writer = new StreamWriter(this, end, this.parts, () => hear(() => events.drained()))
    return {
      write: (bytes) => writer.write(bytes),
      get isFull() {
        return writer.isFull
      },
      close: () => {
        isClosed = true
        this.streams.delete(end)
        // Bytes in transit may or may not arrive.
        if (this.parts.random.chance(0.5)) end.close()
        else writer.end()
      },
    }
  }

  /** Resolves after this time by its clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.timer(ms, resolve))
  }

  private enter(work: () => void): void {
    if (!this.isAlive) return
    if (this.isPaused) this.backlog.push(work)
    else this.run(work)
  }

  private run(work: () => void): void {
    if (!this.isAlive) return
    const { within, onUncaught } = this.parts
    try {
      if (within === undefined) work()
      else within(work)
    } catch (error) {
      onUncaught(error)
    }
  }
}

/** Accepts bytes at once, or keeps the caller's buffer for a while. */
class StreamWriter {
  private readonly process: ProgramProcess
  private readonly stream: StreamEnd
  private readonly parts: ProcessParts
  private readonly drained: () => void
  private readonly kept: Uint8Array[] = []
  private isEnding = false

  constructor(process: ProgramProcess, end: StreamEnd, parts: ProcessParts, drained: () => void) {
    this.process = process
    this.stream = end
    this.parts = parts
    this.drained = drained
  }

  get isFull(): boolean {
    return this.kept.length >= keptMax
  }

  write(bytes: Uint8Array): boolean {
    const { random, backlogChance, world } = this.parts
    if (this.kept.length === 0 && !random.chance(backlogChance)) {
      this.stream.send(bytes)
      return true
    }
    this.kept.push(bytes)
    if (this.kept.length === 1) world.after(random.next() * backlogMsMax, () => this.drain())
    return false
  }

  end(): void {
    this.isEnding = true
    if (this.kept.length === 0) this.stream.end()
  }

  private drain(): void {
    if (!this.process.isAlive) return
    const { isFull } = this
    for (const bytes of this.kept.splice(0)) this.stream.send(bytes)
    if (this.isEnding) this.stream.end()
    else if (isFull) this.drained()
  }
}
