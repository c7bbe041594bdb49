import { AuthPacket, codes, errorCodes, Reader, type Id, type TypeOf } from '@zabra/protocol'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import type { Authenticator } from '../ports.ts'
import { identityBytes } from '../state/acl/permission.ts'
import type { ClientConnection } from './connection.ts'
import { Guesses } from './guesses.ts'
import type { FlowControl } from './flow-control.ts'
import type { ServiceLimits } from './limits.ts'
import type { Clock } from './pipeline-options.ts'
import type { Replies } from './replies.ts'
import type { ServerStats } from './server-stats.ts'
import type { Trace } from './trace.ts'

/** The parts of the pipeline that authentication needs. */
export interface AuthenticationHost {
  close(connection: ClientConnection): void
  readonly flow: Pick<FlowControl, 'limitReached' | 'resumeReadingFrom'>
}

interface Parts {
  readonly authenticator: Authenticator
  readonly clock: Clock
  readonly trace: Trace
  readonly replies: Replies
  readonly stats: ServerStats
  readonly keeper: ByteKeeper
}

interface Options {
  readonly requiredSchemes: readonly string[]
  readonly limits: ServiceLimits
}

type Credentials = Pick<TypeOf<typeof AuthPacket>, 'scheme' | 'auth'>

const { ok, authFailed, sessionClosedRequireSaslAuth } = errorCodes

/** Finds out who clients are. These requests are answered at once, before requests in flight. */
export class Authentication {
  private readonly parts: Parts
  private readonly options: Options
  private readonly host: AuthenticationHost
  private readonly guesses = new Guesses()
  /** Connections whose password is checked later, because of too many wrong ones. */
  private readonly delayed = new Set<ClientConnection>()
  private readonly reader = new Reader()

  constructor(parts: Parts, options: Options, host: AuthenticationHost) {
    this.parts = parts
    this.options = options
    this.host = host
  }

  /** A request of type auth or sasl; false to read no further for the moment. */
  receive(connection: ClientConnection, xid: number, type: number, body: Reader): boolean {
    if (type === codes.sasl) return this.acceptSasl(connection, xid, body.buffer())
    const bodyAt = body.position
    const { scheme, auth } = AuthPacket.read(body)
    const { authenticator, clock, keeper } = this.parts
    const isGuarded = scheme !== null && authenticator.isGuarded?.(scheme, auth) === true
    if (!isGuarded) return this.authenticate(connection, xid, { scheme, auth })
    const { address } = connection.link
    const waitMs = this.guesses.waitMs(address, clock.nowMs)
    if (waitMs === 0) return this.authenticateGuarded(connection, xid, { scheme, auth }, false)
    this.host.flow.limitReached('password_guesses', address)
    if (waitMs === undefined) return this.refuse(connection, xid, scheme)
    const kept = keeper.keep(body.view, bodyAt, body.end)
    connection.delayedAuth = { xid, body: kept, atMs: clock.nowMs + waitMs }
    this.delayed.add(connection)
    connection.link.pause()
    return false
  }

  /** Time passed: delayed passwords may be due. */
  tick(): void {
    for (const connection of this.delayed) {
      const { xid, body, atMs } = connection.delayedAuth!
      if (this.parts.clock.nowMs < atMs) continue
      this.delayed.delete(connection)
      connection.delayedAuth = undefined
      const packet = AuthPacket.read(this.reader.reset(body, 0, body.length))
      if (this.authenticateGuarded(connection, xid, packet, true)) {
        this.host.flow.resumeReadingFrom(connection)
      }
    }
  }

  left(connection: ClientConnection): void {
    this.delayed.delete(connection)
  }

  /** Whether the connection has an identity of a required scheme. */
  isPermitted(connection: ClientConnection): boolean {
    const { requiredSchemes } = this.options
    return connection.identities.some(({ scheme }) => requiredSchemes.includes(scheme ?? ''))
  }

  refuseUnpermitted(connection: ClientConnection, xid: number): boolean {
    this.parts.replies.inline(connection, xid, sessionClosedRequireSaslAuth)
    this.host.close(connection)
    return false
  }

  private authenticateGuarded(
    connection: ClientConnection,
    xid: number,
    packet: Credentials,
    hasWaited: boolean,
  ): boolean {
    const goesOn = this.authenticate(connection, xid, packet)
    if (!goesOn || !connection.identities.some(({ scheme }) => scheme === 'super')) {
      const { stats, clock } = this.parts
      stats.failedGuesses++
      this.guesses.failed(connection.link.address, clock.nowMs, hasWaited)
    }
    return goesOn
  }

  private authenticate(
    connection: ClientConnection,
    xid: number,
    { scheme, auth }: Credentials,
  ): boolean {
    const { authenticator, replies } = this.parts
    const { address } = connection.link
    const proven = scheme === null ? undefined : authenticator.authenticate(scheme, auth, address)
    if (proven === undefined) return this.refuse(connection, xid, scheme)
    if (!this.addIdentities(connection, proven)) return this.refuseIdentities(connection, xid)
    replies.inline(connection, xid, ok)
    return true
  }

  private refuse(connection: ClientConnection, xid: number, scheme: string | null): false {
    const { stats, trace, replies } = this.parts
    stats.authFailures++
    trace({ type: 'authFailed', address: connection.link.address, scheme })
    replies.inline(connection, xid, authFailed)
    this.host.close(connection)
    return false
  }

  /** One step of a SASL exchange, which the first token begins. */
  private acceptSasl(connection: ClientConnection, xid: number, token: Uint8Array | null): boolean {
    const { authenticator, replies, clock } = this.parts
    const { address } = connection.link
    connection.sasl ??= authenticator.startSasl?.()
    if (connection.sasl === undefined) {
      // Without SASL, Apache answers with success and no token.
      replies.inline(connection, xid, ok, (out) => out.buffer(null))
      return true
    }
    // Every proof counts as a guess at a password until it is right.
    const mayGuess = this.guesses.waitMs(address, clock.nowMs) !== undefined
    if (!mayGuess) this.host.flow.limitReached('password_guesses', address)
    const answer = mayGuess ? connection.sasl.answer(token ?? new Uint8Array(0)) : undefined
    if (answer === undefined) return this.refuseSasl(connection, xid, mayGuess)
    const { identities = [] } = answer
    if (!this.addIdentities(connection, identities)) return this.refuseIdentities(connection, xid)
    replies.inline(connection, xid, ok, (out) => out.buffer(answer.token))
    return true
  }

  private refuseSasl(connection: ClientConnection, xid: number, wasGuess: boolean): boolean {
    const { stats, trace, replies, clock, authenticator } = this.parts
    const { address } = connection.link
    if (wasGuess) {
      stats.failedGuesses++
      this.guesses.failed(address, clock.nowMs)
    }
    stats.authFailures++
    trace({ type: 'authFailed', address, scheme: 'sasl' })
    const isRequired = this.options.requiredSchemes.includes('sasl')
    const stays = authenticator.keepsSaslFailed === true && !isRequired
    const refusal = isRequired ? sessionClosedRequireSaslAuth : authFailed
    replies.inline(connection, xid, stays ? ok : refusal, (out) => out.buffer(null))
    if (!stays) this.host.close(connection)
    return stays
  }

  /** False if the connection would have more identities than it may. */
  private addIdentities(connection: ClientConnection, proven: readonly Id[]): boolean {
    const known = connection.identities
    const isNew = (id: Id): boolean =>
      !known.some((other) => other.scheme === id.scheme && other.id === id.id)
    const added = proven.filter(isNew)
    if (added.length === 0) return true
    // A new list: requests already prepared keep the identities they were read with.
    const all = [...known, ...added]
    if (!this.mayHave(all)) return false
    connection.identities = all
    return true
  }

  private refuseIdentities(connection: ClientConnection, xid: number): false {
    this.host.flow.limitReached('identities', connection.link.address)
    this.parts.replies.inline(connection, xid, authFailed)
    this.host.close(connection)
    return false
  }

  /** Identities travel with each write, and other servers limit how many they accept. */
  private mayHave(identities: readonly Id[]): boolean {
    const { limits } = this.options
    return (
      identities.length <= limits.identities && identityBytes(identities) <= limits.identityBytes
    )
  }
}
