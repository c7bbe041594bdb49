import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { encodeText, type Id } from '@zabra/protocol'
import { socketIdentities } from '../auth/x509.ts'
import type { EventLogger } from '../base/event-logger.ts'
import { addressOf, mayAdminister, parseAuthorization } from '../http/authorization.ts'
import type { ServerView } from '../view/server-view.ts'
import { ApiError, badRequest } from './api-error.ts'
import { InternalClient, type Credentials } from './internal-client.ts'
import { highest, type Role } from './roles.ts'
import { Tokens, type TokenGrant } from './tokens.ts'

/** A caller of the API, with the internal client that acts for it. */
export interface Caller {
  readonly client: InternalClient
  readonly role: Role
}

const idleMsMax = 60_000
const checkMs = 5_000
/** Number of sessions that callers can make the server hold. */
const clientsMax = 64

/** One client per address and credentials, opened on demand and closed when idle. */
export class Clients {
  private readonly view: ServerView
  private readonly tokens: Tokens | undefined
  private readonly open = new Map<string, Promise<InternalClient>>()
  private readonly checks: NodeJS.Timeout

  /** Throws a StartError if the file of tokens cannot be used. */
  constructor(view: ServerView, logger: EventLogger) {
    const { tokenFile } = view.config.api
    this.view = view
    this.tokens = tokenFile === undefined ? undefined : new Tokens(tokenFile, logger)
    this.checks = setInterval(() => void this.closeIdle(performance.now() - idleMsMax), checkMs)
    this.checks.unref()
  }

  get sessionIds(): Promise<ReadonlySet<bigint>> {
    return this.settled().then((clients) => new Set(clients.map(([, { sessionId }]) => sessionId)))
  }

  /** The role of callers without credentials. */
  get anonymous(): Role {
    return this.view.config.api.anonymous
  }

  /** Runs work for the sender of a request; the client stays open in the meantime. */
  async use<T>(request: IncomingMessage, work: (caller: Caller) => Promise<T>): Promise<T> {
    const address = addressOf(request)
    const header = request.headers.authorization?.trim() ?? ''
    const grant = this.grantOf(request, header)
    const client = await this.clientOf(address, header, grant?.identities)
    client.uses++
    try {
      const role = header === '' ? 'none' : this.roleOf(client.identities)
      return await work({ client, role: highest(this.anonymous, role, grant?.role ?? 'none') })
    } finally {
      client.uses--
      client.lastUsedMs = performance.now()
    }
  }

  /** The role of a caller while no leader can open a session for it. */
  roleWithoutSession(request: IncomingMessage): Role {
    const header = request.headers.authorization?.trim() ?? ''
    if (header === '') return this.anonymous
    const grant = this.grantOf(request, header)
    const { scheme, token } = credentialsIn(header)
    const identities =
      grant?.identities ??
      this.view.authenticator.authenticate(scheme, token, addressOf(request)) ??
      []
    return highest(this.anonymous, this.roleOf(identities), grant?.role ?? 'none')
  }

  stop(): void {
    clearInterval(this.checks)
    void this.closeIdle(Infinity)
  }

  /** The identity that the header proves without a password: a token, or the certificate of the connection. */
  private grantOf({ socket }: IncomingMessage, header: string): TokenGrant | undefined {
    const { scheme, token } = parseAuthorization(header)
    if (scheme === 'x509') {
      const identities = socketIdentities(socket, this.view.config.x509SuperUser)
      if (identities !== undefined) return { role: 'none', identities }
      throw new ApiError(401, 'noCertificate', this.noCertificateText(socket))
    }
    if (scheme.toLowerCase() !== 'bearer') return undefined
    const grant = this.tokens?.find(Buffer.from(token ?? []).toString())
    if (grant !== undefined) return grant
    throw new ApiError(401, 'badToken', 'This token is not known; see api.tokenFile')
  }

  private noCertificateText(socket: Socket): string {
    if (!(socket instanceof TLSSocket)) {
      return 'There is no client certificate, because the connection does not use HTTPS'
    }
    return this.view.config.adminTls.settings.clientAuth === 'none'
      ? 'The server does not ask for client certificates; see admin.wantClientAuth'
      : 'The browser or the program did not present a client certificate'
  }

  private roleOf(identities: readonly Id[]): Role {
    if (mayAdminister(this.view, identities)) return 'admin'
    const granted = this.view.config.api.identities.filter(({ id }) =>
      identities.some((own) => own.scheme === id.scheme && own.id === id.id),
    )
    return highest(...granted.map(({ role }) => role))
  }

  private async clientOf(
    address: string,
    header: string,
    proven: readonly Id[] | undefined,
  ): Promise<InternalClient> {
    const key = [address, header, ...(proven ?? []).map(({ id }) => id)].join('\n')
    const known = await this.open.get(key)?.catch(() => undefined)
    if (known?.isOpen === true) return known
    const isProven = proven !== undefined || header === ''
    const credentials = isProven ? undefined : credentialsIn(header)
    if (this.open.size >= clientsMax) await this.makeRoom()
    // Another request may have opened one in the meantime.
    const other = this.open.get(key)
    if (other !== undefined && (await isOpen(other))) return other
    const opening = InternalClient.open(this.view, address, credentials, proven)
    this.open.set(key, opening)
    try {
      const client = await opening
      client.onClose(() => this.forget(key, opening))
      return client
    } catch (error) {
      this.forget(key, opening)
      throw error
    }
  }

  private forget(key: string, opening: Promise<InternalClient>): void {
    if (this.open.get(key) === opening) this.open.delete(key)
  }

  /** Closes the least recently used client. */
  private async makeRoom(): Promise<void> {
    const idle = (await this.settled()).filter(([, { uses }]) => uses === 0)
    idle.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs)
    const [longest] = idle
    if (longest === undefined) {
      throw new ApiError(503, 'tooManyClients', 'Too many clients use the API at the same time')
    }
    const [key, client] = longest
    this.open.delete(key)
    client.dispose()
  }

  private async closeIdle(usedBeforeMs: number): Promise<void> {
    for (const [key, client] of await this.settled()) {
      if (client.uses > 0 && usedBeforeMs !== Infinity) continue
      if (client.lastUsedMs > usedBeforeMs) continue
      this.open.delete(key)
      client.dispose()
    }
  }

  private async settled(): Promise<(readonly [key: string, client: InternalClient])[]> {
    const entries = [...this.open].map(async ([key, opening]) => {
      const client = await opening.catch(() => undefined)
      return client === undefined ? undefined : ([key, client] as const)
    })
    return (await Promise.all(entries)).filter((entry) => entry !== undefined)
  }
}

async function isOpen(opening: Promise<InternalClient>): Promise<boolean> {
  return (await opening.catch(() => undefined))?.isOpen === true
}

/** `Basic` is `digest` in the form that browsers and curl send. */
function credentialsIn(header: string): Credentials {
  const { scheme, token } = parseAuthorization(header)
  if (scheme.toLowerCase() === 'basic') {
    const text = Buffer.from(Buffer.from(token ?? []).toString(), 'base64').toString()
    if (!text.includes(':')) throw badRequest('Authorization: Basic does not hold user:password')
    return { scheme: 'digest', token: encodeText(text) }
  }
  return { scheme, token }
}
