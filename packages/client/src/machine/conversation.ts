import {
  errorCodes,
  MalformedError,
  operations,
  Reader,
  SetWatches,
  SetWatches2,
  WatcherEvent,
  Writer,
  xids,
} from '@zabra/protocol'
import { ConnectionLossError, OperationError, refusalOf } from '../errors.ts'
import type { RequestStats } from '../request-stats.ts'
import type { SessionLink } from '../session-link.ts'
import { Call, type Kind, type Turn } from './call.ts'
import { CallQueue } from './call-queue.ts'
import type { SaslExchange } from './sasl.ts'
import type { WatchRegistry } from './watch-registry.ts'

/** The connection to the server, as a conversation uses it. */
export type Link = Pick<SessionLink, 'send' | 'isFull' | 'leave'>

export interface ConversationOptions {
  /** Longer requests are not sent. */
  readonly requestBytesMax: number
  /** How often a read is sent again after a lost connection. */
  readonly repeatsMax: number
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
  readonly stats: RequestStats
  /** Requests that take this long are reported; `Infinity` reports none. */
  readonly slowMs: number
  readonly onSlow: (call: Call, ms: number) => void
  /** Starts an exchange that every connection must complete first. */
  readonly sasl?: (() => SaslExchange) | undefined
  /** The exchange failed, and would fail on every connection. */
  readonly onRejected: (error: Error) => void
  /** The server refused an identity, which is not presented any more. */
  readonly onIdentityRefused: (refusal: IdentityRefusal) => void
}

/** An identity to present on every connection. */
export interface Credentials {
  readonly scheme: string
  readonly credentials: Uint8Array
  /** The client cannot work without it: if it is refused, no connection is usable. */
  readonly isRequired?: boolean
}

export interface IdentityRefusal {
  readonly scheme: string
  readonly error: OperationError
  /** A refusal is reported anyway: to the pending call of `addAuth`, or by closing the client. */
  readonly isTold: boolean
}

/** Limit of calls that wait for a reply; more wait to be sent. */
const inFlightMax = 8192
const xidMax = 0x7fffffff
const keptBytesMax = 256 * 1024
/** Bytes after which a piece leaves before the turn ends, so that the server can start earlier. */
const earlyBytes = 8 * 1024
const watchListBytesMax = 128 * 1024
const noBytes = new Uint8Array(0)

/**
 * The messages of a client across its connections: sends requests in the order they were made,
 * matches replies to them, and repeats identities and watches to each new server. It does no I/O.
 */
export class Conversation {
  private readonly link: Link
  private readonly flushSoon: () => void
  private readonly watches: WatchRegistry
  private readonly options: ConversationOptions
  private readonly waiting = new CallQueue(isGivenUp)
  private readonly sent = new CallQueue()
  private readonly authCalls: Call[] = []
  private readonly identities: Credentials[] = []
  private readonly reader = new Reader()
  private readonly out = new Writer(0)
  private framesOut = 0
  private isFlushing = false
  /** The turn in which requests are being sent. */
  private turn: Turn = { startedAtMs: 0 }
  /** Consecutive replies of one operation and one turn that are not in the statistics yet. */
  private unmeasured = 0
  private measuredCode = 0
  private measuredTurn: Turn | undefined
  /** Requests may leave: the connection is established and authenticated. */
  private isOpen = false
  private isBackedUp = false
  private nextXid = 1
  /**
   * All changes up to this zxid were reported to watchers: a new server is asked for later ones.
   * This is not the last zxid that the session has seen, which is ahead while the changes of one
   * transaction are being reported.
   */
  private toldZxid = 0n
  /**
   * Lists of watches that the server has not answered yet; its reports about them are incomplete.
   */
  private unrestored = 0
  /** Identities whose first reply is still pending. */
  private readonly pendingAuth: Call[] = []
  /** A write was sent and its reply was lost: its effect may not be visible here yet. */
  private hasUncertainWrites = false
  private readonly syncKind: Kind<Call, void> = {
    name: 'sync',
    code: operations.sync.code,
    isRead: true,
    write: (writer, read) => writer.ustring(read.path ?? '/'),
    read: () => {},
    refused: refusedWithItsRead,
  }
  /**
   * An empty write. Once it is committed, so is everything that this session wrote before, on any
   * server; and requests that still arrive through another server are refused, because the session
   * has moved. A `sync` is weaker: a leader answers it at once, though a write may be proposed and
   * not committed yet.
   */
  private readonly barrierKind: Kind<Call, void> = {
    name: 'multi',
    code: operations.multi.code,
    isRead: true,
    write: (writer) => operations.multi.request.write(writer, []),
    read: () => {
      this.hasUncertainWrites = false
    },
    refused: refusedWithItsRead,
  }

  constructor(
    link: Link,
    /** Schedules `flush` for the end of the current turn. */
    flushSoon: () => void,
    watches: WatchRegistry,
    options: ConversationOptions,
  ) {
    this.link = link
    this.flushSoon = flushSoon
    this.watches = watches
    this.options = options
  }

  /** Sends the call, or keeps it until there is a connection. */
  submit<Request, Result>(call: Call<Request, Result>): Promise<Result> {
    const promise = call.promise()
    const anonymous = call as unknown as Call
    if (this.isOpen && this.waiting.length === 0 && this.hasRoom) this.transmit(anonymous)
    else this.waiting.push(anonymous)
    return promise
  }

  /** Whether calls wait for a connection. */
  get hasWaiting(): boolean {
    return this.waiting.some((call) => !isGivenUp(call))
  }

  /** Whether a pending read sets a watch on this path. */
  isToWatch(path: string): boolean {
    const sets = (call: Call): boolean => call.watch !== undefined && call.watchPath === path
    return this.sent.some(sets) || this.waiting.some(sets)
  }

  /** Presents an identity now and on every later connection, unless the server refuses it. */
  authenticate(call: Call<Credentials, void>): Promise<void> {
    const promise = call.promise()
    this.identities.push(call.request)
    if (this.isOpen && this.waiting.length === 0) this.transmitAuth(call as unknown as Call)
    else if (this.isOpen) this.waiting.push(call as unknown as Call)
    else this.pendingAuth.push(call as unknown as Call)
    return promise
  }

  /** Fails calls that have timed out; returns whether any call with a deadline remains. */
  expire(tick: number, lateError: (call: Call) => unknown): boolean {
    let isAnyLeft = false
    const look = (call: Call): void => {
      if (call.isDone || call.deadlineTick === 0) return
      if (call.deadlineTick > tick) isAnyLeft = true
      else {
        this.options.stats.unanswered++
        call.fail(lateError(call))
      }
    }
    this.sent.forEach(look)
    this.waiting.forEach(look)
    return isAnyLeft
  }

  /** How many requests wait for replies, and how many to be sent. */
  get load(): { readonly inFlight: number; readonly waiting: number } {
    let waiting = 0
    this.waiting.forEach((call) => {
      if (!isGivenUp(call)) waiting++
    })
    return { inFlight: this.sent.length, waiting }
  }

  /**
   * A connection is established: sends SASL and identities first, then watches, then waiting calls.
   */
  connected(): void {
    const exchange = this.options.sasl?.()
    if (exchange === undefined) this.open()
    else this.transmitSasl(exchange, exchange.first, () => this.open())
  }

  private open(): void {
    this.isOpen = true
    this.isBackedUp = false
    const asked = this.pendingAuth.splice(0)
    for (const identity of this.identities) {
      const call = asked.find(({ request }) => request === identity) ?? new Call(authKind, identity)
      this.transmitAuth(call as unknown as Call)
    }
    this.restoreWatches()
    this.sendWaiting()
  }

  /** The connection is lost: repeatable calls wait for the next one, in order. */
  lost(cause: Error): void {
    this.isOpen = false
    this.addMeasured()
    this.isBackedUp = false
    this.out.reset()
    this.framesOut = 0
    this.pendingAuth.push(...this.authCalls.splice(0).filter(({ isDone }) => !isDone))
    const unsent = this.waiting.takeAll()
    const failed: Call[] = []
    for (const call of this.sent.takeAll()) {
      if (call.isDone) {
        if (!call.kind.isRead) this.hasUncertainWrites = true
      } else if (call.kind.isRead && call.repeats < this.options.repeatsMax) {
        call.repeats++
        this.options.stats.repeats++
        this.waiting.push(call)
      } else {
        if (!call.kind.isRead) this.hasUncertainWrites = true
        failed.push(call)
      }
    }
    for (const call of unsent) (isAuth(call) ? this.pendingAuth : this.waiting).push(call)
    this.options.stats.unanswered += failed.length
    for (const call of failed) {
      const mayHaveHappened = !call.kind.isRead
      call.fail(new ConnectionLossError(mayHaveHappened, { path: call.path, cause }))
    }
  }

  /** No reply will come any more: fails all calls, each with the error that `reason` makes. */
  abandon(reason: (call: Call) => unknown): void {
    this.isOpen = false
    this.out.reset()
    this.framesOut = 0
    const sent = this.sent.takeAll()
    if (sent.some(({ kind }) => !kind.isRead)) this.hasUncertainWrites = true
    const calls = [...sent, ...this.waiting.takeAll()]
    calls.push(...this.authCalls.splice(0), ...this.pendingAuth.splice(0))
    this.options.stats.unanswered += calls.length
    for (const call of calls) call.fail(reason(call))
  }

  /** One frame from the server. */
  frame(bytes: Uint8Array, start: number, end: number): void {
    const reader = this.reader.reset(bytes, start, end)
    const xid = reader.int()
    const zxid = reader.long()
    const err = reader.int()
    const { stats } = this.options
    stats.bytesReceived += end - start + 4
    if (xid === xids.notification) {
      stats.notifications++
      const { type, path } = WatcherEvent.read(reader)
      // The same transaction may cause more events, for other nodes.
      this.told(zxid - 1n)
      this.watches.fire(type, path, zxid > 0n ? zxid : undefined)
    } else if (xid === xids.auth) {
      this.authenticated(err, zxid)
    } else {
      const call = this.sent.peek()
      if (call === undefined || call.xid !== xid)
        throw new MalformedError(`a reply to ${xid}, where ${call?.xid ?? 'none'} is the next`)
      this.sent.shift()
      if (xid === xids.setWatches) this.unrestored--
      this.told(zxid)
      this.measure(call, err)
      this.settle(call, err, zxid, reader)
    }
  }

  private told(zxid: bigint): void {
    if (zxid > this.toldZxid && this.unrestored === 0) this.toldZxid = zxid
  }

  private measure(call: Call, err: number): void {
    const { turn, kind } = call
    if (turn !== this.measuredTurn || kind.code !== this.measuredCode) {
      this.addMeasured()
      this.measuredTurn = turn
      this.measuredCode = kind.code
    }
    this.unmeasured++
    const { stats, slowMs, nowMs, onSlow } = this.options
    if (err !== errorCodes.ok) stats.refused(kind.code)
    if (slowMs === Infinity) return
    const ms = nowMs() - turn!.startedAtMs
    if (ms >= slowMs) onSlow(call, ms)
  }

  /** Replies that arrive together, to requests that left together, took the same time. */
  private addMeasured(): void {
    const { unmeasured, measuredTurn: turn } = this
    if (unmeasured === 0 || turn === undefined) return
    this.unmeasured = 0
    const { stats, nowMs } = this.options
    stats.answered(this.measuredCode, nowMs() - turn.startedAtMs, unmeasured)
  }

  /** All frames that arrived together are handled: waiting calls may have room now. */
  received(): void {
    this.addMeasured()
    if (this.waiting.length > 0 && this.isOpen) this.sendWaiting()
  }

  /** Pending bytes have left: there is room again. */
  drained(): void {
    if (!this.isBackedUp) return
    this.isBackedUp = false
    if (this.isOpen) this.sendWaiting()
  }

  /** Sends everything since the last time in one piece. */
  flush(): void {
    this.isFlushing = false
    this.send()
    if (this.waiting.length > 0 && this.isOpen) this.sendWaiting()
  }

  private send(): void {
    const { out, framesOut } = this
    if (framesOut === 0) return
    this.framesOut = 0
    this.options.stats.bytesSent += out.position
    const isTaken = this.link.send(out.written(), framesOut)
    this.isBackedUp = this.link.isFull
    if (!isTaken || out.bytes.length > keptBytesMax) out.adopt(noBytes)
    out.reset()
  }

  private get hasRoom(): boolean {
    return this.sent.length < inFlightMax && !this.isBackedUp
  }

  private sendWaiting(): void {
    while (this.hasRoom) {
      const call = this.waiting.shift()
      if (call === undefined) return
      if (isAuth(call)) this.transmitAuth(call)
      else if (!isGivenUp(call)) this.transmit(call)
    }
  }

  private transmit(call: Call): void {
    if (call.sync === 'always') this.transmitBefore(call, this.syncKind)
    else if (call.sync === 'ifUncertain' && this.hasUncertainWrites)
      this.transmitBefore(call, this.barrierKind)
    if (this.encode(call, this.takeXid())) this.sent.push(call)
  }

  private takeXid(): number {
    const xid = this.nextXid
    this.nextXid = xid === xidMax ? 1 : xid + 1
    return xid
  }

  /** Sent right before a read, in the same piece, so the read needs no additional round trip. */
  private transmitBefore(read: Call, kind: Kind<Call, void>): void {
    const call = new Call(kind, read) as unknown as Call
    // The read is repeated, with a new sync.
    call.repeats = Infinity
    if (this.encode(call, this.takeXid())) this.sent.push(call)
  }

  private transmitSasl(exchange: SaslExchange, token: Uint8Array, done: () => void): void {
    const fail = (error: Error): void => {
      this.leave(error)
      this.options.onRejected(error)
    }
    const kind: Kind<Uint8Array, void> = {
      name: 'sasl',
      code: operations.sasl.code,
      isRead: true,
      write: (writer, bytes) => writer.buffer(bytes),
      read: (reader) => {
        const challenge = reader.buffer()
        if (challenge === null) return fail(rejection('the server offers no SASL'))
        try {
          const answer = exchange.answer(challenge)
          if (answer === undefined) done()
          else this.transmitSasl(exchange, answer, done)
        } catch (error) {
          fail(rejection('the SASL exchange failed', error))
        }
      },
      refused: (err) => {
        fail(new OperationError(refusalOf(err)))
        return { value: undefined }
      },
    }
    const call = new Call(kind, token) as unknown as Call
    call.repeats = Infinity
    if (this.encode(call, this.takeXid())) this.sent.push(call)
  }

  private transmitAuth(call: Call): void {
    if (this.encode(call, xids.auth)) this.authCalls.push(call)
  }

  private encode(call: Call, xid: number): boolean {
    const { out } = this
    const start = out.position
    out.int(0)
    out.int(xid)
    out.int(call.kind.code)
    try {
      call.kind.write(out, call.request)
      this.checkLength(out.position - start - 4, call.path)
    } catch (error) {
      out.position = start
      call.fail(error)
      return false
    }
    out.intAt(start, out.position - start - 4)
    call.xid = xid
    call.wasSent = true
    this.framesOut++
    if (!this.isFlushing) {
      this.isFlushing = true
      this.turn = { startedAtMs: this.options.nowMs() }
      this.flushSoon()
    }
    call.turn = this.turn
    if (out.position >= earlyBytes) this.send()
    return true
  }

  private checkLength(bytes: number, path: string | undefined): void {
    const { requestBytesMax } = this.options
    if (bytes <= requestBytesMax) return
    const about = path === undefined ? '' : `: ${path}`
    throw new RangeError(
      `a request of ${bytes} bytes exceeds ${requestBytesMax} (requestBytesMax)${about}`,
    )
  }

  private settle(call: Call, err: number, zxid: bigint, reader: Reader): void {
    if (call.isDone) return
    if (err !== errorCodes.ok) {
      const answer = call.kind.refused?.(err, call)
      if (answer !== undefined) {
        if (call.watch !== undefined) this.watches.add('exist', call.watchPath, call.watch)
        call.succeed(answer.value)
      } else {
        const { path } = call
        call.fail(new OperationError(refusalOf(err), { path, zxid, chroot: chrootOf(call) }))
      }
      return
    }
    let value: unknown
    try {
      value = call.kind.read(reader, call, zxid)
    } catch (error) {
      if (error instanceof MalformedError) {
        call.fail(new ConnectionLossError(!call.kind.isRead, { path: call.path, cause: error }))
        throw error
      }
      // The server's data does not match the codec; the watch is set nevertheless.
      if (call.watch !== undefined) this.watches.add(call.watchKind, call.watchPath, call.watch)
      call.fail(error)
      return
    }
    if (call.watch !== undefined) this.watches.add(call.watchKind, call.watchPath, call.watch)
    call.succeed(value)
  }

  private authenticated(err: number, zxid: bigint): void {
    const call = this.authCalls.shift()
    if (call === undefined) throw new MalformedError('an answer to no authentication')
    const identity = call.request as Credentials
    if (err === errorCodes.ok) {
      call.succeed(undefined)
      this.forgetRepetition(identity)
      return
    }
    const { scheme, isRequired = false } = identity
    const index = this.identities.indexOf(identity)
    // If it were kept, it would be refused on one connection after another.
    if (index >= 0) this.identities.splice(index, 1)
    const error = new OperationError(refusalOf(err), { zxid })
    const isTold = isRequired || call.isAwaited
    call.fail(error)
    // The server closes the connection; new requests should not get lost with it.
    this.leave(error)
    this.options.onIdentityRefused({ scheme, error, isTold })
    if (isRequired) this.options.onRejected(error)
  }

  /** An identity that was added more than once is presented once to the next server. */
  private forgetRepetition(identity: Credentials): void {
    const { identities } = this
    const first = identities.find((one) => isSame(one, identity))
    if (first !== identity) identities.splice(identities.indexOf(identity), 1)
  }

  /** A link in another thread reports the loss only later; new requests wait. */
  private leave(error: Error): void {
    this.link.leave(error)
    this.lost(error)
  }

  /** In portions, because servers limit the size of a request. */
  private restoreWatches(): void {
    this.unrestored = 0
    if (this.watches.size === 0) return
    const { toldZxid: relativeZxid } = this
    const { data, exist, child, persistent, recursive } = this.watches.lists()
    const lists = [data, exist, child, persistent, recursive] as const
    const kind = persistent.length + recursive.length > 0 ? setWatches2Kind : setWatchesKind
    let portion: WatchPortion = emptyPortion(relativeZxid)
    let bytes = 0
    const say = (): void => {
      if (bytes === 0) return
      const call = new Call(kind, portion) as unknown as Call
      // The next connection gets its own.
      call.repeats = Infinity
      if (this.encode(call, xids.setWatches)) {
        this.sent.push(call)
        this.unrestored++
      }
      portion = emptyPortion(relativeZxid)
      bytes = 0
    }
    lists.forEach((paths, index) => {
      for (const path of paths) {
        portion.lists[index]!.push(path)
        bytes += path.length + 4
        if (bytes > watchListBytesMax) say()
      }
    })
    say()
    this.watches.resumed()
  }
}

/** The prefix of the request's path before the path of the caller. */
function chrootOf({ path, request }: Call): string {
  const asked = (request as { readonly path?: unknown } | undefined)?.path
  if (path === undefined || typeof asked !== 'string') return ''
  if (path === '/') return asked === '/' ? '' : asked
  return asked.endsWith(path) ? asked.slice(0, -path.length) : ''
}

function isSame(one: Credentials, other: Credentials): boolean {
  const [own, theirs] = [one.credentials, other.credentials]
  if (one.scheme !== other.scheme || own.length !== theirs.length) return false
  return own.every((byte, i) => byte === theirs[i])
}

function isAuth({ kind }: Call): boolean {
  return kind.code === operations.auth.code
}

/** Nobody waits for the reply, and it was not sent. An identity is presented nevertheless. */
function isGivenUp(call: Call): boolean {
  return call.isDone && !isAuth(call)
}

function refusedWithItsRead(err: number, { request: read }: Call<Call, void>): { value: void } {
  read.fail(new OperationError(refusalOf(err), { path: read.path }))
  return { value: undefined }
}

function rejection(message: string, cause?: unknown): OperationError {
  return new OperationError('authFailed', { cause }, message)
}

interface WatchPortion {
  readonly relativeZxid: bigint
  readonly lists: readonly [string[], string[], string[], string[], string[]]
}

function emptyPortion(relativeZxid: bigint): WatchPortion {
  return { relativeZxid, lists: [[], [], [], [], []] }
}

/** Presents an identity. */
export const authKind: Kind<Credentials, void> = {
  name: 'auth',
  code: operations.auth.code,
  isRead: true,
  write: (writer, { scheme, credentials }) =>
    operations.auth.request.write(writer, { type: 0, scheme, auth: credentials }),
  read: () => undefined,
}

const setWatchesKind: Kind<WatchPortion, void> = {
  name: 'setWatches',
  code: operations.setWatches.code,
  isRead: true,
  write(writer, { relativeZxid, lists: [dataWatches, existWatches, childWatches] }) {
    SetWatches.write(writer, { relativeZxid, dataWatches, existWatches, childWatches })
  },
  read: () => undefined,
}

const setWatches2Kind: Kind<WatchPortion, void> = {
  ...setWatchesKind,
  name: 'setWatches2',
  code: operations.setWatches2.code,
  write(writer, { relativeZxid, lists }) {
    const [dataWatches, existWatches, childWatches] = lists
    const [, , , persistentWatches, persistentRecursiveWatches] = lists
    const oneShots = { relativeZxid, dataWatches, existWatches, childWatches }
    SetWatches2.write(writer, { ...oneShots, persistentWatches, persistentRecursiveWatches })
  },
}
