import { MalformedError } from '@zabra/protocol'
import type { Watches } from '../state/watch/watches.ts'
import type { ClientConnection, Queued } from './connection.ts'
import { weighedBytesMin, type LimitName, type ServiceLimits } from './limits.ts'
import type { Clock, PipelineOptions } from './pipeline-options.ts'
import type { ServerStats } from './server-stats.ts'
import type { Trace } from './trace.ts'
import type { Upstream } from './upstream.ts'

/** The parts of the pipeline that flow control needs. */
export interface FlowHost {
  readonly upstream: Upstream | undefined
  /** Answers the reads at the head of the connection's queue. */
  answerQueued(connection: ClientConnection): void
  /** Reads what the connection has sent and was not read yet. */
  readKept(connection: ClientConnection): void
  close(connection: ClientConnection): void
}

interface Parts {
  readonly clock: Clock
  readonly stats: ServerStats
  readonly trace: Trace
  readonly watches: Pick<Watches, 'met'>
}

/** A write that fires this many watches takes a good part of a millisecond. */
const manyWatches = 200
/** Writes in flight while each of them fires that many. */
const fewWrites = 50
const averagedWrites = 8

/**
 * Counts what is in flight, and decides which connections are read from. A connection that reaches
 * a limit is throttled: it is not read from until there is room again.
 */
export class FlowControl {
  /** Requests in flight. */
  outstanding = 0
  /** Frames longer than this are weighed. */
  readonly unweighedBytesMax: number
  /** Nobody is read from. */
  isHeld = false
  /** Bytes of the requests in flight that are weighed, and of those that are large. */
  private heldBytes = 0
  private largeBytes = 0
  private watchesMet = 0
  private watchesPerWrite = 0
  private readonly throttled = new Set<ClientConnection>()
  private readonly clock: Clock
  private readonly stats: ServerStats
  private readonly trace: Trace
  private readonly watches: Pick<Watches, 'met'>
  private readonly options: PipelineOptions
  private readonly limits: ServiceLimits
  private readonly host: FlowHost

  constructor(parts: Parts, options: PipelineOptions, limits: ServiceLimits, host: FlowHost) {
    this.clock = parts.clock
    this.stats = parts.stats
    this.trace = parts.trace
    this.watches = parts.watches
    this.options = options
    this.limits = limits
    this.host = host
    this.unweighedBytesMax = Math.min(
      weighedBytesMin,
      options.largeRequests?.threshold ?? weighedBytesMin,
    )
  }

  // --- limits ------------------------------------------------------------------------------------

  /** Counts one more in flight; false if its connection is not read from any more. */
  admit(connection: ClientConnection): boolean {
    if (!connection.isParked) this.outstanding++
    if (connection.queue.length > this.limits.outstandingPerConnection) {
      this.throttle(connection, 'outstanding_requests_per_connection')
      return false
    }
    if (this.outstanding <= this.outstandingMax || isAdministrator(connection)) return true
    this.throttle(connection, 'outstanding_requests')
    return false
  }

  /** The request that the connection has just queued counts by its length, until it is answered. */
  weigh(connection: ClientConnection, length: number): boolean {
    const { limits } = this
    connection.queue.last!.weighedBytes = length
    connection.heldBytes += length
    this.heldBytes += length
    if (this.isLarge(length)) this.largeBytes += length
    if (connection.heldBytes > limits.outstandingBytesPerConnection) {
      this.throttle(connection, 'outstanding_bytes_per_connection')
      return false
    }
    if (this.heldBytes > limits.outstandingBytes) this.shedParked()
    if (this.heldBytes > limits.outstandingBytes && !isAdministrator(connection)) {
      this.throttle(connection, 'outstanding_bytes')
      return false
    }
    return true
  }

  /** Throws if a request of this length would exceed what large requests may be together. */
  checkLarge(length: number): void {
    const { largeRequests } = this.options
    if (largeRequests === undefined || length <= largeRequests.threshold) return
    if (this.largeBytes + length <= largeRequests.bytesMax) return
    this.stats.largeRequestsRejected++
    throw new MalformedError(`a request of ${length} bytes, while ${this.largeBytes} are in flight`)
  }

  /** The request at the head of the queue was answered. */
  leaveQueue(connection: ClientConnection): void {
    const left = connection.queue.shift()!
    if (!connection.isParked) this.outstanding--
    if (connection.heldBytes > 0) this.release(connection, left)
  }

  /** The connection is closed. Its writes in flight go on, but nobody waits for their replies. */
  left(connection: ClientConnection): void {
    const { queue } = connection
    this.throttled.delete(connection)
    if (!connection.isParked) this.outstanding -= queue.length
    if (connection.heldBytes > 0) {
      for (let i = 0; i < queue.length; i++) this.release(connection, queue.at(i)!)
    }
    queue.clear()
  }

  limitReached(limit: LimitName, address: string): void {
    this.stats.limitsReached[limit]++
    this.trace({ type: 'limitReached', limit, address })
  }

  /** Keeps an average of the watches that a write fires. */
  countWatches(): void {
    const { met } = this.watches
    this.watchesPerWrite += (met - this.watchesMet - this.watchesPerWrite) / averagedWrites
    this.watchesMet = met
  }

  /** If each write fires many watches, few are in flight: those that commit together are one step. */
  private get outstandingMax(): number {
    const { outstandingMax } = this.options
    return this.watchesPerWrite < manyWatches ? outstandingMax : Math.min(outstandingMax, fewWrites)
  }

  private isLarge(length: number): boolean {
    const { largeRequests } = this.options
    return largeRequests !== undefined && length > largeRequests.threshold
  }

  private release(connection: ClientConnection, { weighedBytes }: Queued): void {
    if (weighedBytes === undefined) return
    connection.heldBytes -= weighedBytes
    this.heldBytes -= weighedBytes
    if (this.isLarge(weighedBytes)) this.largeBytes -= weighedBytes
  }

  // --- clients that do not read their replies ----------------------------------------------------

  /** Requests of a client that reads no replies must not count against those of other clients. */
  park(connection: ClientConnection): void {
    if (connection.isParked) return
    connection.isParked = true
    this.outstanding -= connection.queue.length
  }

  private unpark(connection: ClientConnection): void {
    if (!connection.isParked) return
    connection.isParked = false
    this.outstanding += connection.queue.length
  }

  /** Closes clients that do not read their replies and have large requests, to make room. */
  private shedParked(): void {
    for (const connection of this.throttled) {
      if (this.heldBytes <= this.limits.outstandingBytes) return
      if (!connection.isParked || connection.heldBytes === 0) continue
      this.limitReached('unread_replies', connection.link.address)
      this.host.close(connection)
    }
  }

  // --- which connections are read from -----------------------------------------------------------

  /** Stops reading from a connection that has reached a limit. */
  throttle(connection: ClientConnection, limit: LimitName): void {
    if (connection.isThrottled) return
    this.stopReading(connection)
    this.limitReached(limit, connection.link.address)
  }

  /** While this is on no client is read from: what clients send meanwhile waits. */
  hold(isOn: boolean): void {
    this.isHeld = isOn
    if (!isOn) this.resumeReading()
  }

  /** Bytes have come from a connection while nobody is read from. */
  keepUnread(connection: ClientConnection): void {
    connection.cutter.hold()
    this.stopReading(connection)
  }

  /** Clients are not served any more, so there is nothing to hold. */
  stopServing(): void {
    this.isHeld = false
  }

  /** There is room again: throttled connections are read from, each in its turn. */
  resumeReading(): void {
    if (this.isHeld) return
    for (const connection of this.throttled) {
      if (this.isFull && !isAdministrator(connection)) return
      this.tryToResume(connection)
    }
  }

  /** A handshake, a password or a write is done: what the connection sent after it may be read. */
  resumeReadingFrom(connection: ClientConnection): void {
    if (!connection.cutter.isHeld || connection.isThrottled) return
    if (connection.delayedAuth !== undefined) return
    this.host.readKept(connection)
    if (!connection.isThrottled && connection.state === 'open') connection.link.resume()
  }

  /** The client has taken what it was sent. */
  drained(connection: ClientConnection): void {
    if (!connection.isThrottled) return
    // A client that takes its replies is alive, though its heartbeats are not read meanwhile.
    if (connection.state === 'open') this.host.upstream?.touch(connection)
    this.resumeReading()
  }

  /** A session does not expire while it is this server that does not read its heartbeats. */
  touchThrottled(): void {
    const { upstream } = this.host
    if (upstream === undefined) return
    for (const connection of this.throttled) {
      const { state, out, link } = connection
      if (state !== 'open' || connection.session?.isClosing !== false) continue
      if (out.position + link.unsentBytes <= this.limits.unreadBytes) upstream.touch(connection)
    }
  }

  private stopReading(connection: ClientConnection): void {
    if (connection.isThrottled) return
    connection.isThrottled = true
    connection.waitingSinceMs ??= this.clock.nowMs
    this.stats.throttleWaits++
    this.throttled.add(connection)
    connection.link.pause()
  }

  private get isFull(): boolean {
    return this.outstanding > this.outstandingMax || this.heldBytes > this.limits.outstandingBytes
  }

  private tryToResume(connection: ClientConnection): void {
    const { limits, host } = this
    const { out, link, queue } = connection
    if (out.position + link.unsentBytes > limits.unreadBytes) return
    if (queue.length > limits.outstandingPerConnection) return
    if (connection.heldBytes > limits.outstandingBytesPerConnection) return
    this.throttled.delete(connection)
    connection.isThrottled = false
    this.unpark(connection)
    host.answerQueued(connection)
    if (connection.isThrottled || isClosed(connection)) return
    if (connection.delayedAuth !== undefined) return
    if (this.isStale(connection)) return
    host.readKept(connection)
    connection.isLate = false
    if (connection.isThrottled) return
    connection.waitingSinceMs = undefined
    if (!isClosed(connection)) link.resume()
  }

  /** Checks how long the next request of a connection has waited; true if the connection is closed. */
  private isStale(connection: ClientConnection): boolean {
    const { waiting } = this.options
    if (waiting === undefined || connection.cutter.keptBytes === 0) return false
    const waitedMs = this.clock.nowMs - (connection.waitingSinceMs ?? this.clock.nowMs)
    connection.isLate = waiting.refuseAfterMs > 0 && waitedMs > waiting.refuseAfterMs
    if (!waiting.staleAfterTimeout || waitedMs <= connection.timeoutMs) return false
    if (!waiting.dropStale) {
      this.stats.staleRequests++
      return false
    }
    this.stats.staleRequestsDropped++
    this.host.close(connection)
    return true
  }
}

/** A method may have closed it; without this the compiler remembers the state from before. */
function isClosed({ state }: ClientConnection): boolean {
  return state === 'closed'
}

/** The super user is served even when the server is full. */
function isAdministrator({ identities }: ClientConnection): boolean {
  return identities.length > 1 && identities.some(({ scheme }) => scheme === 'super')
}
