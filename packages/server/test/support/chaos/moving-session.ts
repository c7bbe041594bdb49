import type { Random } from '../random.ts'
import { ConnectionLostError, RawClient } from '../raw-client.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'

const sessionlessTimeoutMs = 1500
const retryMs = 40
/** A connection to a server that is silent for this long is abandoned. */
const silenceMsMax = 1500

/**
 * A session that moves: it resumes on any server that accepts it, with the last zxid it has seen.
 */
export class MovingSession {
  readonly name: string
  lastZxid = 0n
  sessionId = 0n
  private password: Uint8Array = new Uint8Array(16)
  private lastContactMs = performance.now()
  private readonly ensemble: EnsembleProcesses
  private readonly random: Random
  private readonly timeoutMs: number

  constructor(name: string, ensemble: EnsembleProcesses, random: Random, timeoutMs: number) {
    this.name = name
    this.ensemble = ensemble
    this.random = random
    this.timeoutMs = timeoutMs
  }

  /**
   * A connection to any server that accepts the session; undefined if `isOver` becomes true first.
   */
  async connect(isOver: () => boolean): Promise<RawClient | undefined> {
    while (!isOver()) {
      const { ids, attraction } = this.ensemble
      const anybody = this.random.pick(ids)
      const isDrawn = attraction !== undefined && this.random.chance(0.7)
      const client = await this.tryConnect(isDrawn ? attraction : anybody)
      if (client !== undefined) return client
      await new Promise((resolve) => {
        setTimeout(resolve, retryMs)
      })
    }
    return undefined
  }

  /** Throws if a server refuses a session that is still alive. */
  async tryConnect(server: number): Promise<RawClient | undefined> {
    const port = this.ensemble.clientPort(server)
    const { timeoutMs, sessionId, password, lastZxid } = this
    const session = sessionId === 0n ? {} : { session: { sessionId, password } }
    try {
      const options = {
        timeoutMs,
        lastZxidSeen: lastZxid,
        patienceMs: sessionlessTimeoutMs,
        ...session,
      }
      const client = await RawClient.connect(port, options)
      this.sessionId = client.sessionId
      this.password = client.password
      this.watchOver(client)
      return client
    } catch (error) {
      if (error instanceof ConnectionLostError) return undefined
      const awayMs = performance.now() - this.lastContactMs
      if (awayMs > timeoutMs) throw new SessionExpiredError(`${this.name} was away for too long`)
      const away = `${Math.round(awayMs)} of ${timeoutMs} ms away`
      const id = `0x${sessionId.toString(16)}`
      throw new Error(`${this.name}: server ${server} refused session ${id}, ${away}`, {
        cause: error,
      })
    }
  }

  /** Records what was seen on a connection, and leaves it when it is silent. */
  private watchOver(client: RawClient): void {
    let heardMs = performance.now()
    client.socket.on('data', () => {
      heardMs = this.lastContactMs = performance.now()
      if (client.lastZxid > this.lastZxid) this.lastZxid = client.lastZxid
    })
    const watchdog = setInterval(() => {
      if (client.outstanding === 0) heardMs = performance.now()
      if (performance.now() - heardMs > silenceMsMax) client.socket.destroy()
    }, 100)
    void client.ended.then(() => clearInterval(watchdog))
  }
}

/** The ensemble was down for longer than the session timeout, so the expiry is legitimate. */
export class SessionExpiredError extends Error {
  override readonly name = 'SessionExpiredError'
}
