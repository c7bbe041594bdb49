import {
  ConnectRequest,
  ConnectResponse,
  FrameCutter,
  MalformedError,
  operations,
  Reader,
  replyHeaderBytes,
  Writer,
  xids,
  type FrameSink,
} from '@zabra/protocol'
import type { ServerAddress } from '../host.ts'
import type { ResumableSession, SessionInfo } from '../state.ts'
import type { ServerRotation } from './server-rotation.ts'

/** Parameters of a session. */
export interface SessionSettings {
  /** The requested timeout; the server has its limits. */
  readonly timeoutMs: number
  /** Whether a server without a quorum is acceptable. */
  readonly readOnly: boolean
  /** Whether a new session is made after one has expired. */
  readonly renews: boolean
  readonly resume?: ResumableSession | undefined
  /** The first connection should take no longer than this, even if all servers but one are silent. */
  readonly connectMs?: number | undefined
}

/** The parts of its driver that the machine needs. */
export interface SessionEffects {
  open(server: ServerAddress): void
  /** As `Stream.write`. */
  write(bytes: Uint8Array): boolean
  drop(): void
  /** Queries a server separately whether it has a quorum; calls `foundQuorum` if so. */
  probe(server: ServerAddress): void
  /** Requests a `tick` at that time; earlier requests remain. */
  wakeAt(ms: number): void
}

/** Events of the session. */
export interface SessionEvents {
  connected(connection: Connection): void
  /** A frame with a header, except pings. */
  frame(bytes: Uint8Array, start: number, end: number): void
  /** Every frame that was received at once has been passed on. */
  received(): void
  suspended(session: SessionInfo, expiresAtMs: number, cause: Error): void
  /** An attempt to connect failed without a session to suspend; another one follows. */
  attemptFailed(server: ServerAddress, cause: Error): void
  expired(session: SessionInfo): void
}

export interface Connection {
  readonly session: SessionInfo
  readonly resumed: boolean
  readonly readOnly: boolean
  readonly server: ServerAddress
}

type Phase = 'pausing' | 'opening' | 'greeting' | 'connected' | 'ended'

const frameBytesMax = 0x7fffffff
const noPassword = new Uint8Array(16)
const attemptMsMin = 200
/** How often a client of a server without a quorum looks for a better one. */
const probeMsMin = 100
const probeMsMax = 60_000
/** How long reading the received bytes may take after a stall. */
const catchUpMs = 100

/**
 * One session across its connections: bytes and time in, effects out.
 *
 * It handles frames without their content. `Conversation` knows what they mean, which requests are
 * repeated, and which watches a new connection needs.
 */
export class SessionMachine implements FrameSink {
  private readonly settings: SessionSettings
  private readonly rotation: ServerRotation
  private readonly effects: SessionEffects
  private readonly events: SessionEvents
  private readonly reader = new Reader()
  private phase: Phase = 'pausing'
  private server: ServerAddress | undefined
  private cutter = new FrameCutter(frameBytesMax)
  private session: SessionInfo | undefined
  /** The server that created the session had no quorum: no other server knows the session. */
  private isThrowaway = false
  private probeAtMs = Infinity
  private probeEveryMs = probeMsMin
  private lastZxidHigh = 0
  private lastZxidLow = 0
  /** When the current phase ends: a pause, or an attempt to connect. */
  private phaseEndsAtMs = 0
  private expiresAtMs = Infinity
  private plannedWakeMs = Infinity
  /** A request was answered on this connection. */
  private isUseful = false
  private heardAtMs = 0
  private sentAtMs = 0
  /** The server has certainly received a message from us at this time or later. */
  private touchedAtMs = 0
  private framesSent = 0
  private framesHeard = 0
  /**
   * Once `markFrames` frames are answered, the server has received everything sent until `markMs`.
   */
  private markFrames = 0
  private markMs = 0

  constructor(
    settings: SessionSettings,
    rotation: ServerRotation,
    effects: SessionEffects,
    events: SessionEvents,
  ) {
    this.settings = settings
    this.rotation = rotation
    this.effects = effects
    this.events = events
    const { resume } = settings
    if (resume !== undefined) {
      const { id, password, lastZxid = 0n } = resume
      this.session = { id, password, timeoutMs: settings.timeoutMs }
      this.lastZxidHigh = Number(lastZxid >> 32n)
      this.lastZxidLow = Number(lastZxid & 0xffffffffn)
    }
  }

  /** The newest transaction that this client has seen in a reply or event. */
  get lastZxid(): bigint {
    return (BigInt(this.lastZxidHigh) << 32n) | BigInt(this.lastZxidLow)
  }

  /** The time of the last message that the server certainly received, plus the timeout. */
  get aliveUntilMs(): number {
    return this.session === undefined ? 0 : this.touchedAtMs + this.session.timeoutMs
  }

  start(nowMs: number): void {
    this.pause(nowMs)
  }

  /** The stream is open. */
  opened(nowMs: number): void {
    if (this.phase !== 'opening') return
    this.phase = 'greeting'
    this.isUseful = false
    this.cutter = new FrameCutter(frameBytesMax)
    this.framesSent = this.framesHeard = this.markFrames = 0
    this.markMs = this.sentAtMs = this.heardAtMs = nowMs
    this.effects.write(this.greeting())
  }

  received(bytes: Uint8Array, length: number, nowMs: number): void {
    if (this.phase !== 'greeting' && this.phase !== 'connected') return
    this.heardAtMs = nowMs
    try {
      this.cutter.push(bytes, length, this)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.lost(nowMs, error)
      return
    }
    this.events.received()
  }

  /** Called by the frame cutter. */
  frame(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.phase === 'greeting') {
      this.greeted(ConnectResponse.read(this.reader.reset(bytes, start, end)))
    } else if (this.phase === 'connected') {
      if (end - start < replyHeaderBytes) throw new MalformedError('a reply without a header')
      const { view } = this.reader.reset(bytes, start, end)
      const xid = view.getInt32(start)
      this.seen(view.getInt32(start + 4), view.getUint32(start + 8))
      if (xid !== xids.notification) this.answered()
      if (xid > 0) this.isUseful = true
      if (xid !== xids.ping) this.events.frame(bytes, start, end)
    }
    return true
  }

  /** The stream has ended, or could not be opened. */
  lost(nowMs: number, cause = new Error('the connection ended'), next?: ServerAddress): void {
    if (this.phase === 'ended' || this.phase === 'pausing') return
    const wasConnected = this.phase === 'connected'
    this.effects.drop()
    if (wasConnected) this.rotation.lost(nowMs, this.isUseful)
    else this.rotation.failed()
    if (next !== undefined) this.rotation.prefer(next)
    this.probeAtMs = Infinity
    this.phase = 'pausing'
    if (wasConnected && this.session !== undefined) {
      this.expiresAtMs = this.touchedAtMs + this.session.timeoutMs
      this.events.suspended(this.session, this.expiresAtMs, cause)
      if (this.isThrowaway) {
        // Nothing is left that could expire.
        this.session = undefined
        this.expiresAtMs = Infinity
      }
    } else {
      this.events.attemptFailed(this.server!, cause)
    }
    // A listener may have ended it.
    if (this.hasEnded) return
    if (nowMs >= this.expiresAtMs) this.expire(nowMs)
    else this.pause(nowMs)
  }

  /** `bytes` contain this many frames. Returns what `Stream.write` returns. */
  send(bytes: Uint8Array, frames: number, nowMs: number): boolean {
    if (this.phase !== 'connected') return true
    this.sentAtMs = nowMs
    this.framesSent += frames
    if (this.framesHeard >= this.markFrames) {
      this.markFrames = this.framesSent
      this.markMs = nowMs
    }
    return this.effects.write(bytes)
  }

  tick(nowMs: number): void {
    const lateMs = nowMs - this.plannedWakeMs
    if (this.plannedWakeMs <= nowMs) this.plannedWakeMs = Infinity
    if (this.phase === 'ended') return
    if (this.phase === 'connected') {
      this.tickConnected(nowMs, lateMs)
    } else if (this.session !== undefined && nowMs >= this.expiresAtMs) {
      this.effects.drop()
      this.expire(nowMs)
    } else if (nowMs >= this.phaseEndsAtMs) {
      if (this.phase === 'pausing') this.attempt(nowMs)
      else this.lost(nowMs, new Error(`no answer from ${this.server?.host}:${this.server?.port}`))
    }
    this.plan()
  }

  /**
   * Replaces the servers. The client leaves a server that is not among them, even if it was only
   * connecting.
   */
  setServers(servers: readonly ServerAddress[], nowMs: number): void {
    if (this.phase === 'ended') return
    if (!this.rotation.replace(servers, this.server)) return
    if (this.phase === 'pausing') {
      // These servers are untried, so the pause ends. Not in this call: a listener of a loss may
      // make it.
      this.server = this.rotation.next().server
      this.phaseEndsAtMs = nowMs
      this.plan()
    } else if (!this.rotation.has(this.server!)) {
      this.lost(nowMs, new Error('the server is not among those of the client any more'))
    }
  }

  /** A queried server has a quorum: moves there if the current one has none. */
  foundQuorum(server: ServerAddress, nowMs: number): void {
    if (this.phase !== 'connected' || this.probeAtMs === Infinity) return
    if (!this.rotation.has(server)) return
    this.lost(nowMs, new Error('another server has a quorum'), server)
  }

  /** Ends the session on request, and the connection with it. */
  end(): void {
    if (this.phase === 'ended') return
    this.phase = 'ended'
    this.session = undefined
    this.effects.drop()
  }

  private get hasEnded(): boolean {
    return this.phase === 'ended'
  }

  private tickConnected(nowMs: number, lateMs: number): void {
    const { timeoutMs } = this.session!
    const silentMs = nowMs - this.heardAtMs
    if (silentMs >= (timeoutMs * 2) / 3) {
      // The program may have been busy, and received bytes may wait to be read.
      if (lateMs > timeoutMs / 10) this.heardAtMs = nowMs - (timeoutMs * 2) / 3 + catchUpMs
      else {
        this.lost(nowMs, new Error(`nothing heard from the server for ${Math.round(silentMs)} ms`))
        return
      }
    }
    if (nowMs - this.sentAtMs >= timeoutMs / 3) this.send(pingFrame, 1, nowMs)
    if (nowMs >= this.probeAtMs) {
      this.probeEveryMs = Math.min(probeMsMax, this.probeEveryMs * 2)
      this.probeAtMs = nowMs + this.probeEveryMs
      this.effects.probe(this.rotation.peek())
    }
  }

  private plan(): void {
    let wakeMs: number
    if (this.phase === 'ended') return
    if (this.phase === 'connected') {
      const { timeoutMs } = this.session!
      const heartbeatMs = this.sentAtMs + timeoutMs / 3
      wakeMs = Math.min(heartbeatMs, this.heardAtMs + (timeoutMs * 2) / 3, this.probeAtMs)
    } else {
      wakeMs = Math.min(
        this.phaseEndsAtMs,
        this.session === undefined ? Infinity : this.expiresAtMs,
      )
    }
    if (wakeMs >= this.plannedWakeMs) return
    this.plannedWakeMs = wakeMs
    this.effects.wakeAt(wakeMs)
  }

  private pause(nowMs: number): void {
    this.phase = 'pausing'
    const { server, delayMs } = this.rotation.next()
    this.server = server
    this.phaseEndsAtMs = nowMs + delayMs
    if (delayMs === 0) this.attempt(nowMs)
    this.plan()
  }

  private attempt(nowMs: number): void {
    this.phase = 'opening'
    const { timeoutMs } = this.session ?? this.settings
    const { count, rounds } = this.rotation
    // A program gives up after `connectMs`, so each server must have its turn before that.
    const connectMs = this.session === undefined ? (this.settings.connectMs ?? Infinity) : Infinity
    const patienceMsMax = Math.min((timeoutMs * 2) / 3, connectMs)
    // If all servers were too slow, a short patience would never reach any of them.
    const patienceMs = Math.max(attemptMsMin, patienceMsMax / count) * (1 + rounds)
    this.phaseEndsAtMs = nowMs + Math.max(attemptMsMin, Math.min(patienceMs, patienceMsMax))
    this.effects.open(this.server!)
  }

  private greeting(): Uint8Array {
    const writer = new Writer(64)
    writer.int(0)
    ConnectRequest.write(writer, {
      protocolVersion: 0,
      lastZxidSeen: this.lastZxid,
      timeOut: this.settings.timeoutMs,
      sessionId: this.session?.id ?? 0n,
      passwd: this.session?.password ?? noPassword,
      readOnly: this.settings.readOnly,
    })
    writer.intAt(0, writer.position - 4)
    return writer.written()
  }

  private greeted(answer: ConnectResponse): void {
    const before = this.session
    const nowMs = this.heardAtMs
    if (answer.sessionId === 0n || answer.timeOut <= 0) {
      this.effects.drop()
      if (before === undefined) {
        this.rotation.failed()
        this.pause(nowMs)
      } else {
        this.rotation.answered()
        this.expire(nowMs)
      }
      return
    }
    this.session = {
      id: answer.sessionId,
      password: new Uint8Array(answer.passwd ?? noPassword),
      timeoutMs: answer.timeOut,
    }
    this.phase = 'connected'
    this.expiresAtMs = Infinity
    this.touchedAtMs = this.markMs
    this.isThrowaway = answer.readOnly === true && before === undefined
    this.rotation.connected(nowMs)
    this.probeEveryMs = probeMsMin
    this.probeAtMs = answer.readOnly === true ? nowMs + probeMsMin : Infinity
    this.events.connected({
      session: this.session,
      resumed: before?.id === answer.sessionId,
      readOnly: answer.readOnly === true,
      server: this.server!,
    })
    this.plan()
  }

  private expire(nowMs: number): void {
    const { session } = this
    this.session = undefined
    this.expiresAtMs = Infinity
    this.phase = this.settings.renews ? 'pausing' : 'ended'
    if (session !== undefined) this.events.expired(session)
    if (!this.hasEnded) this.pause(nowMs)
  }

  private answered(): void {
    this.framesHeard++
    if (this.framesHeard === this.markFrames) this.touchedAtMs = this.markMs
  }

  private seen(high: number, low: number): void {
    if (high < 0) return
    if (high > this.lastZxidHigh || (high === this.lastZxidHigh && low > this.lastZxidLow)) {
      this.lastZxidHigh = high
      this.lastZxidLow = low
    }
  }
}

const pingFrame = makePing()

function makePing(): Uint8Array {
  const writer = new Writer(12)
  writer.int(8)
  writer.int(xids.ping)
  writer.int(operations.ping.code)
  return writer.written()
}
