import { Histogram, Summary } from '../base/statistics.ts'
import { noLimitReached } from './limits.ts'

const rotateEveryMs = 30_000

/** Counters and latencies of the requests of a server. */
export class ServerStats {
  packetsReceived = 0
  packetsSent = 0
  readonly latency = new Summary()
  readonly readLatency = new Histogram()
  readonly writeLatency = new Histogram()
  lastResponseBytes = -1
  minResponseBytes = -1
  maxResponseBytes = -1
  authFailures = 0
  sessionsExpired = 0
  sessionlessExpired = 0
  connectionsRejected = 0
  /** Those of them that were refused to keep file descriptors for logs. */
  connectionsWithoutDescriptor = 0
  /** Tokens that were missing in the bucket of the connection throttle, when one was let in. */
  readonly tokenDeficit = new Summary()
  largeRequestsRejected = 0
  /** Connections that had to wait because too many requests were in flight. */
  throttleWaits = 0
  throttledOps = 0
  staleRequests = 0
  staleRequestsDropped = 0
  /** Wrong passwords, of sessions and of the super user. */
  failedGuesses = 0
  readonly limitsReached = noLimitReached()
  connectionRequests = 0
  /** Of these, those that wanted to go on with a session. */
  connectionRevalidations = 0
  /** Connections that ended from the other side. */
  connectionsDropped = 0
  bytesReceived = 0
  responseBytes = 0
  commits = 0
  digestMismatches = 0
  /** How many were answered, by the low byte of the operation's code. */
  readonly operations = new Float64Array(256)

  private rotatedMs = 0

  /** Percentiles are about the last half minute to minute. */
  tick(nowMs: number): void {
    if (nowMs - this.rotatedMs < rotateEveryMs) return
    this.rotatedMs = nowMs
    this.readLatency.rotate()
    this.writeLatency.rotate()
  }

  responded(bytes: number): void {
    this.lastResponseBytes = bytes
    this.responseBytes += bytes
    if (bytes > this.maxResponseBytes) this.maxResponseBytes = bytes
    if (bytes < this.minResponseBytes || this.minResponseBytes < 0) this.minResponseBytes = bytes
  }

  reset(): void {
    this.packetsReceived = this.packetsSent = 0
    this.latency.reset()
    this.lastResponseBytes = this.minResponseBytes = this.maxResponseBytes = -1
  }
}
