import {
  ConnectRequest,
  ConnectResponse,
  errorCodes,
  errorName,
  FrameCutter,
  MalformedError,
  Reader,
  WatcherEvent,
  Writer,
  xids,
  type FrameSink,
} from '@zabra/protocol'
import type { Conversation, History, Operation } from '../history/history.ts'
import type { Line } from '../history/transcript.ts'
import type { Network, StreamEnd } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import type { Timer, World } from '../world/world.ts'
import { show, type Request, type Result } from './request.ts'
import { KnownWatches } from './known-watches.ts'
import { decodeResult, encodeRequest, xidOf } from './wire.ts'

/** The part of the cluster that a client knows. */
export interface Servers {
  readonly names: readonly string[]
}

const frameBytesMax = 4 * 1024 * 1024
const pingXid = xids.ping
const noPassword = new Uint8Array(16)

/** A client with one session and one connection at a time, speaking the real protocol. */
export class SimClient implements FrameSink {
  readonly name: string
  session = 0n
  /** The server that it is or was last connected to. */
  server = ''
  /** The next server to connect to; undefined to choose at random. */
  private wantedServer: string | undefined
  /** Requests that wait for a connection. */
  private readonly waiting: Request[] = []
  private state: 'off' | 'connecting' | 'connected' = 'off'
  private password = noPassword
  private timeoutMs: number
  private lastZxid = 0n
  private xid = 0
  private pending: Operation[] = []
  private stream: StreamEnd | undefined
  private cutter = new FrameCutter(frameBytesMax)
  private conversation: Conversation | undefined
  private readonly reader = new Reader()
  private readonly watches = new KnownWatches()
  private users: string[] = []
  private readonly wantedTimeoutMs: number
  private readonly world: World
  private readonly network: Network
  private readonly servers: Servers
  private readonly history: History
  private readonly random: Random
  private readonly trace: (line: Line) => void
  private heardMs = 0
  private sentMs = 0
  private watchdog: Timer | undefined
  private isStopped = false

  constructor(
    name: string,
    parts: {
      world: World
      network: Network
      servers: Servers
      history: History
      random: Random
      trace: (line: Line) => void
      timeoutMs: number
    },
  ) {
    this.name = name
    this.world = parts.world
    this.network = parts.network
    this.servers = parts.servers
    this.history = parts.history
    this.random = parts.random
    this.trace = parts.trace
    this.wantedTimeoutMs = this.timeoutMs = parts.timeoutMs
  }

  /** How long it waits for an answer before it tries another server. */
  get patienceMs(): number {
    return (this.timeoutMs * 2) / 3
  }

  get isIdle(): boolean {
    return this.state === 'connected' && this.pending.length === 0 && this.waiting.length === 0
  }

  get isConnected(): boolean {
    return this.state === 'connected'
  }

  get address(): string {
    return this.name
  }

  start(): void {
    this.connect()
    this.watch()
  }

  /** Stops it for good. */
  stop(): void {
    this.isStopped = true
    this.watchdog?.cancel()
    this.stream?.close()
    this.disconnected('stopped')
  }

  /** The network resets its connection in the middle of whatever is in transit. */
  resetConnection(): void {
    this.stream?.reset()
  }

  ask(request: Request): void {
    // Sent only when nothing is pending, because answers depend on the identities, and the reply to
    // auth overtakes others.
    if (request.op === 'auth' && !this.isIdle) return
    if (this.state === 'connected') this.send(request)
    else this.waiting.push(request)
  }

  /** Closes the connection; the session continues on another one. */
  reconnect(): void {
    this.stream?.close()
    this.lost('reconnects')
  }

  /** Like `reconnect`, to this server. */
  goTo(server: string): void {
    if (this.server === server && this.isConnected) return
    this.wantedServer = server
    this.reconnect()
  }

  /**
   * The old connection stays half open on the server, while the session continues on another one.
   */
  move(): void {
    this.stream?.vanish()
    this.lost('moves')
  }

  /** Leaves its session without closing it. */
  abandon(): void {
    this.stream?.vanish()
    this.disconnected('abandons its session')
    this.forgetSession()
    this.connectLater()
  }

  // --- the connection ----------------------------------------------------------------------------

  private connect(): void {
    if (this.isStopped || this.state !== 'off') return
    this.state = 'connecting'
    const drawn = this.random.pick(this.servers.names)
    this.server = this.wantedServer ?? drawn
    this.wantedServer = undefined
    this.cutter = new FrameCutter(frameBytesMax)
    const stream = this.network.connect(this.name, this.server)
    this.stream = stream
    this.heardMs = this.sentMs = this.world.nowMs
    stream.onBytes = (bytes) => {
      if (this.stream === stream) this.receive(bytes)
    }
    stream.onClosed = () => {
      if (this.stream === stream) this.lost('connection closed')
    }
    const writer = new Writer()
    writer.int(0)
    ConnectRequest.write(writer, {
      protocolVersion: 0,
      lastZxidSeen: this.lastZxid,
      timeOut: this.wantedTimeoutMs,
      sessionId: this.session,
      passwd: this.password,
      readOnly: false,
    })
    writer.intAt(0, writer.position - 4)
    stream.send(writer.written())
  }

  private connectLater(): void {
    this.world.after(this.random.between(1, 100), () => this.connect())
  }

  private lost(why: string): void {
    this.disconnected(why)
    this.connectLater()
  }

  /** Requests without an answer stay open: their effect is unknown. */
  private disconnected(why: string): void {
    if (this.state === 'connected') {
      this.trace(`${this.name} ${why}; ${this.pending.length} unanswered`)
    }
    this.state = 'off'
    this.stream = undefined
    this.conversation = undefined
    this.pending = []
  }

  private forgetSession(): void {
    this.session = 0n
    this.password = noPassword
    this.timeoutMs = this.wantedTimeoutMs
    this.watches.clear()
    this.users = []
    this.xid = 0
  }

  /** Sends pings in time, and leaves a connection that is silent for too long. */
  private watch(): void {
    if (this.isStopped) return
    this.watchdog = this.world.after(this.timeoutMs / 12, () => this.watch())
    const { nowMs } = this.world
    if (this.state === 'off') return
    if (nowMs - this.heardMs > this.patienceMs) {
      this.stream?.close()
      this.lost('heard nothing')
    } else if (this.state === 'connected' && nowMs - this.sentMs > this.timeoutMs / 4) {
      this.sendPing()
    }
  }

  private sendPing(): void {
    const writer = new Writer()
    writer.int(8)
    writer.int(pingXid)
    writer.int(11)
    this.sentMs = this.world.nowMs
    this.stream?.send(writer.written())
  }

  private receive(bytes: Uint8Array): void {
    this.heardMs = this.world.nowMs
    try {
      this.cutter.push(bytes, bytes.length, this)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.complain(`cannot read what it was sent: ${error.message}`)
    }
  }

  frame(bytes: Uint8Array, start: number, end: number): boolean {
    this.reader.reset(bytes, start, end)
    if (this.state === 'connecting') this.admitted(ConnectResponse.read(this.reader))
    else if (this.state === 'connected') this.reply()
    return true
  }

  private admitted({ sessionId, passwd, timeOut }: ConnectResponse): void {
    const { history } = this
    if (sessionId === 0n) {
      this.trace(`${this.name} is told that session ${hex(this.session)} is gone`)
      const record = history.sessions.get(this.session)
      if (record !== undefined) record.ended = history.next()
      this.stream?.close()
      this.disconnected('expired')
      this.forgetSession()
      // A local session ends when its client goes elsewhere: there it begins another.
      if (history.hasLocalSessions) this.wantedServer = this.server
      this.connectLater()
      return
    }
    if (this.session === 0n) this.newSession(sessionId, timeOut)
    else if (sessionId !== this.session) this.complain(`got session ${hex(sessionId)} in exchange`)
    this.session = sessionId
    this.password = new Uint8Array(passwd ?? noPassword)
    this.timeoutMs = timeOut
    this.state = 'connected'
    const life = this.stream?.far.acceptedInLife ?? 0
    const { name: client, server } = this
    const conversation = { client, session: sessionId, server, life, frames: [] }
    this.conversation = conversation
    history.conversations.push(conversation)
    this.trace(`${client} has session ${hex(sessionId)} on ${server}, life ${life}`)
    for (const user of this.users) this.send({ op: 'auth', user: `${user.split(':')[0]}:secret` })
    const restored = this.watches.toRestore(this.lastZxid)
    if (restored !== undefined) this.send({ op: 'setWatches', watches: restored })
    for (const request of this.waiting.splice(0)) this.ask(request)
  }

  private newSession(id: bigint, timeoutMs: number): void {
    const { history } = this
    if (history.sessions.has(id)) this.complain(`was given session ${hex(id)}, which is not new`)
    history.sessions.set(id, { id, client: this.name, timeoutMs, created: history.next() })
  }

  // --- requests and replies ----------------------------------------------------------------------

  private send(request: Request): void {
    const { history } = this
    const xid = xidOf(request, () => ++this.xid)
    if (request.op === 'auth') {
      const id = `${request.user.split(':', 1)[0]}:hash`
      if (!this.users.includes(id)) this.users.push(id)
    }
    const operation: Operation = {
      client: this.name,
      session: this.session,
      xid,
      request,
      isLocal: this.history.haveOnlyLocalSessions,
      identities: [...this.users],
      called: history.next(),
      calledMs: this.world.nowMs,
    }
    if (request.op === 'closeSession') {
      const record = history.sessions.get(this.session)
      if (record !== undefined) record.closing = operation
    }
    history.operations.push(operation)
    this.pending.push(operation)
    this.sentMs = this.world.nowMs
    this.trace(() => `${this.name} #${xid} ${show(request)}`)
    this.stream?.send(encodeRequest(xid, request))
  }

  private reply(): void {
    const { reader, history } = this
    const xid = reader.int()
    const zxid = reader.long()
    const err = reader.int()
    if (xid !== xids.auth) this.saw(zxid)
    if (xid === xids.notification) {
      const { type, path } = WatcherEvent.read(reader)
      this.conversation!.frames.push({ kind: 'notification', zxid, type, path })
      this.watches.fired(type, path)
      this.trace(() => `${this.name} is told: ${type} ${path} at ${zxid}`)
      return
    }
    if (xid === pingXid) {
      this.conversation!.frames.push({ kind: 'ping', zxid })
      return
    }
    // The reply to auth is sent at once, ahead of replies to earlier requests.
    const isAuth = xid === xids.auth
    const at = isAuth ? this.pending.findIndex(({ request }) => request.op === 'auth') : 0
    const operation = this.pending.splice(at, 1)[0]
    if (operation === undefined || operation.xid !== xid) {
      this.complain(`got an answer to #${xid} where #${operation?.xid} was due`)
      return
    }
    operation.returned = history.next()
    operation.zxid = zxid
    const decoded = err === 0 ? decodeResult(operation.request, reader) : { err }
    const result = operation.isLocal === true ? asLeaderSays(decoded) : decoded
    operation.result = result
    this.conversation!.frames.push({ kind: 'reply', operation, zxid })
    this.watches.answered(operation.request, result)
    this.trace(() => {
      const shown = err === 0 ? show(result) : (errorName(err) ?? err)
      return `${this.name} #${xid} -> ${shown} at ${zxid}`
    })
    if (operation.request.op === 'closeSession') this.left()
  }

  private left(): void {
    const { history } = this
    const record = history.sessions.get(this.session)
    if (record !== undefined) record.ended = history.next()
    this.stream?.close()
    this.disconnected('closed its session')
    this.forgetSession()
    this.connectLater()
  }

  /** A client must never see an older zxid than before, on any server. */
  private saw(zxid: bigint): void {
    if (zxid <= 0n) return
    if (zxid < this.lastZxid) this.complain(`is shown zxid ${zxid} after ${this.lastZxid}`)
    this.lastZxid = zxid
  }

  private complain(what: string): void {
    this.trace(`${this.name} ${what}`)
    this.history.complaints.push(`${this.name} ${what}`)
  }
}

/**
 * A follower does not look into a multi that its leader refused, and the leader knows no such
 * session: either answer is right for a part that a local session may not ask for.
 */
function asLeaderSays(result: Result): Result {
  if (result.parts === undefined) return result
  const { sessionExpired, ephemeralOnLocalSession } = errorCodes
  const parts = result.parts.map((part) =>
    part.err === sessionExpired ? { ...part, err: ephemeralOnLocalSession } : part,
  )
  return { ...result, parts }
}

function hex(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`
}
