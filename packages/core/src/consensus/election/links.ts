import {
  anonymousServerId,
  electionMessageBytesMax,
  encodeInitialMessage,
  FrameCutter,
  initialMessageBytesMax,
  MalformedError,
  readInitialMessage,
  Writer,
  type InitialMessage,
} from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { ServerId } from '../../membership/quorum.ts'

/** Identifies a connection. The host assigns it, and never reuses it. */
export type ConnectionId = number

export interface LinksOptions {
  readonly self: ServerId
  /** The addresses of this server, as `host:port`; more than one only with multi-address. */
  readonly addresses: readonly string[]
  /** Called when a connection is closed because too many have not introduced themselves. */
  readonly onCrowded?: () => void
}

/** The requests of the links to the host, in this order. */
export type LinkAction =
  /** Connect to a server; `announced` is the address it has announced, if it is not the known one. */
  | { readonly type: 'dial'; readonly server: ServerId; readonly announced: readonly string[] }
  | { readonly type: 'send'; readonly connection: ConnectionId; readonly bytes: Uint8Array }
  /** After what was sent on it. There is no `closed` for it. */
  | { readonly type: 'close'; readonly connection: ConnectionId }
  | { readonly type: 'message'; readonly from: ServerId; readonly payload: Uint8Array }

/** An open connection, which is the link to a server once it has introduced itself. */
interface Connection {
  readonly id: ConnectionId
  /** Undefined until an accepted connection has introduced itself. */
  server: ServerId | undefined
  /** The part of the introduction that has arrived. */
  introduction: Uint8Array
  readonly cutter: FrameCutter
}

/** The state of the link to another server. */
interface Neighbour {
  connection: Connection | undefined
  isDialling: boolean
  /** A message is being sent; the next one waits. */
  isSending: boolean
  /** One message at most: a newer one replaces it. */
  queued: Uint8Array | undefined
  lastSent: Uint8Array | undefined
  /** See `isGone`. */
  isGone: boolean
}

/** Maximum number of connections without an introduction; above it the oldest is closed. */
const strangersMax = 100
/** Maximum number of known servers; above it one without a connection is forgotten. */
const neighboursMax = 1000

/**
 * The connections of the election port: one for each pair of servers, which the one with the larger
 * id dials. The other one dials only to be dialled back.
 *
 * Only the newest vote of a server matters, so a message waits alone for its turn. What was sent
 * last is sent again on a new connection: it may have been lost with the old one.
 *
 * The host opens and closes connections, and ends those that do not introduce themselves in time.
 */
export class Links {
  private readonly self: ServerId
  private readonly onCrowded: (() => void) | undefined
  private introduction: Uint8Array
  private readonly neighbours = new Map<ServerId, Neighbour>()
  private readonly connections = new Map<ConnectionId, Connection>()
  private readonly strangers = new Set<Connection>()
  private anonymous = 0n
  private actions: LinkAction[] = []

  constructor({ self, addresses, onCrowded }: LinksOptions) {
    this.self = self
    this.onCrowded = onCrowded
    this.introduction = encodeInitialMessage({ serverId: self, addresses })
  }

  /** This server has other addresses from now on. */
  moved(addresses: readonly string[]): void {
    this.introduction = encodeInitialMessage({ serverId: this.self, addresses })
  }

  /** Sends a message to a server, now or when there is a connection. */
  send(to: ServerId, payload: Uint8Array): void {
    assert(to !== this.self, 'a server does not send to itself')
    const neighbour = this.neighbour(to)
    neighbour.queued = payload
    if (neighbour.connection === undefined) this.dial(to)
    else this.sendQueued(neighbour)
  }

  /** The connection requested by `dial` is open. */
  dialled(server: ServerId, id: ConnectionId): void {
    const connection = this.open(id, server)
    // That it is taken does not say that anybody is there: a kernel takes it for a dying process.
    this.neighbour(server).isDialling = false
    this.actions.push({ type: 'send', connection: id, bytes: this.introduction })
    // The server with the larger id keeps the connection; the other one has announced its address.
    if (server > this.self) this.close(connection)
    else this.keep(connection, server)
  }

  /** The `dial` has failed; the next message tries again. */
  dialFailed(server: ServerId): void {
    const neighbour = this.neighbour(server)
    neighbour.isDialling = false
    neighbour.isGone = neighbour.connection === undefined
  }

  /** A connection was accepted. */
  accepted(id: ConnectionId): void {
    const connection = this.open(id, undefined)
    this.strangers.add(connection)
    const [oldest] = this.strangers
    if (this.strangers.size <= strangersMax || oldest === undefined) return
    this.onCrowded?.()
    this.close(oldest)
  }

  /** Bytes have arrived, which the caller may reuse afterwards. */
  received(id: ConnectionId, bytes: Uint8Array): void {
    const connection = this.connections.get(id)
    if (connection === undefined) return
    try {
      if (connection.server === undefined) this.introduce(connection, bytes)
      else this.cut(connection, connection.server, bytes)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.close(connection)
    }
  }

  /** The message on a connection was sent: there is room for the next one. */
  sent(id: ConnectionId): void {
    const server = this.connections.get(id)?.server
    if (server === undefined) return
    const neighbour = this.neighbour(server)
    neighbour.isSending = false
    this.sendQueued(neighbour)
  }

  /** The other side, or the network, has closed a connection. */
  closed(id: ConnectionId): void {
    const connection = this.connections.get(id)
    if (connection === undefined) return
    const { server } = connection
    this.forget(connection)
    const neighbour = server === undefined ? undefined : this.neighbours.get(server)
    if (neighbour !== undefined) neighbour.isGone = neighbour.connection === undefined
  }

  /**
   * Whether a server has closed its connection, or could not be reached, and has not been heard of
   * since. One that is merely slow, or behind a network that says nothing, is not gone.
   */
  isGone(server: ServerId): boolean {
    return this.neighbours.get(server)?.isGone ?? false
  }

  takeActions(): readonly LinkAction[] {
    const { actions } = this
    this.actions = []
    return actions
  }

  /** The servers with an open connection. */
  get connected(): ServerId[] {
    return [...this.neighbours]
      .filter(([, { connection }]) => connection !== undefined)
      .map(([server]) => server)
  }

  private neighbour(server: ServerId): Neighbour {
    let neighbour = this.neighbours.get(server)
    if (neighbour === undefined) {
      if (this.neighbours.size >= neighboursMax) this.forgetStranger()
      neighbour = {
        connection: undefined,
        isDialling: false,
        isSending: false,
        queued: undefined,
        lastSent: undefined,
        isGone: false,
      }
      this.neighbours.set(server, neighbour)
    }
    return neighbour
  }

  /** Any connection can claim to be any server. */
  private forgetStranger(): void {
    for (const [server, { connection, isDialling }] of this.neighbours) {
      if (connection !== undefined || isDialling) continue
      this.neighbours.delete(server)
      return
    }
  }

  private dial(server: ServerId, announced: readonly string[] = []): void {
    const neighbour = this.neighbour(server)
    if (neighbour.isDialling) return
    neighbour.isDialling = true
    this.actions.push({ type: 'dial', server, announced })
  }

  private open(id: ConnectionId, server: ServerId | undefined): Connection {
    assert(!this.connections.has(id), 'a connection is opened once')
    const connection = {
      id,
      server,
      introduction: new Uint8Array(0),
      cutter: new FrameCutter(electionMessageBytesMax),
    }
    this.connections.set(id, connection)
    return connection
  }

  private introduce(connection: Connection, bytes: Uint8Array): void {
    const all = concat(connection.introduction, bytes)
    const read = readInitialMessage(all)
    if (read === undefined) {
      assert(all.length < initialMessageBytesMax, 'an introduction is complete at its bound')
      connection.introduction = all
      return
    }
    this.strangers.delete(connection)
    this.decide(connection, read.message)
    const { server } = connection
    if (server !== undefined) this.cut(connection, server, all.subarray(read.length))
  }

  /** Decides whether an accepted connection is kept. */
  private decide(connection: Connection, { serverId, addresses }: InitialMessage): void {
    if (serverId === anonymousServerId) {
      this.keep(connection, --this.anonymous)
      return
    }
    // A connection from the server with the larger id always replaces the old one, which may be broken.
    if (serverId > this.self) {
      this.keep(connection, serverId)
      return
    }
    this.close(connection)
    // A server with the id of this one is misconfigured.
    if (serverId === this.self) return
    const old = this.neighbour(serverId).connection
    if (old !== undefined) this.close(old)
    this.dial(serverId, addresses.filter(isDiallable))
  }

  private keep(connection: Connection, server: ServerId): void {
    const neighbour = this.neighbour(server)
    if (neighbour.connection !== undefined) this.close(neighbour.connection)
    connection.server = server
    neighbour.connection = connection
    neighbour.isGone = false
    neighbour.isSending = false
    neighbour.queued ??= neighbour.lastSent
    this.sendQueued(neighbour)
  }

  private sendQueued(neighbour: Neighbour): void {
    const { connection, queued } = neighbour
    if (connection === undefined || queued === undefined || neighbour.isSending) return
    neighbour.queued = undefined
    neighbour.lastSent = queued
    neighbour.isSending = true
    this.actions.push({ type: 'send', connection: connection.id, bytes: framed(queued) })
  }

  private cut(connection: Connection, from: ServerId, bytes: Uint8Array): void {
    connection.cutter.push(bytes, bytes.length, {
      frame: (chunk, start, end) => {
        if (start === end) throw new MalformedError('an empty message')
        this.actions.push({ type: 'message', from, payload: chunk.slice(start, end) })
        return true
      },
    })
  }

  private close(connection: Connection): void {
    this.forget(connection)
    this.actions.push({ type: 'close', connection: connection.id })
  }

  private forget(connection: Connection): void {
    this.connections.delete(connection.id)
    this.strangers.delete(connection)
    const { server } = connection
    const neighbour = server === undefined ? undefined : this.neighbours.get(server)
    if (neighbour?.connection !== connection) return
    neighbour.connection = undefined
    neighbour.isSending = false
    // An observer without a name gets another one when it comes back.
    if (server !== undefined && server < 0n) this.neighbours.delete(server)
  }
}

/** An address that stands for every address leads nowhere from outside. */
function isDiallable(address: string): boolean {
  return !/^(0\.0\.0\.0|\[(::|0:0:0:0:0:0:0:0)\]):\d+$/.test(address)
}

function framed(payload: Uint8Array): Uint8Array {
  const writer = new Writer(4 + payload.length)
  writer.buffer(payload)
  return writer.written()
}

function concat(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const all = new Uint8Array(head.length + tail.length)
  all.set(head)
  all.set(tail, head.length)
  return all
}
