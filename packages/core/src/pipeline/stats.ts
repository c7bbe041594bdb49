/** Least, greatest and mean of what was measured. */
export class Summary {
  count = 0
  sum = 0
  min = 0
  max = 0

  add(value: number): void {
    if (this.count === 0) {
      this.min = this.max = value
    } else if (value < this.min) {
      this.min = value
    } else if (value > this.max) {
      this.max = value
    }
    this.count++
    this.sum += value
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.sum / this.count
  }

  reset(): void {
    this.count = this.sum = this.min = this.max = 0
  }
}

/** What a server counts about the requests it serves. */
export class ServerStats {
  packetsReceived = 0
  packetsSent = 0
  readonly latency = new Summary()
  readonly readLatency = new Summary()
  readonly writeLatency = new Summary()
  lastResponseBytes = -1
  minResponseBytes = -1
  maxResponseBytes = -1
  authFailures = 0
  sessionsExpired = 0
  sessionlessExpired = 0
  connectionsRejected = 0
  connectionRequests = 0
  bytesReceived = 0
  commits = 0
  /** By operation: how many were answered. */
  readonly operations = new Map<number, number>()

  responded(bytes: number): void {
    this.lastResponseBytes = bytes
    if (bytes > this.maxResponseBytes) this.maxResponseBytes = bytes
    if (bytes < this.minResponseBytes || this.minResponseBytes < 0) this.minResponseBytes = bytes
  }

  reset(): void {
    this.packetsReceived = this.packetsSent = 0
    this.latency.reset()
    this.lastResponseBytes = this.minResponseBytes = this.maxResponseBytes = -1
  }
}
