import type { IncomingMessage } from 'node:http'
import { encodeText, type Id } from '@zabra/protocol'
import { socketIdentities } from '../auth/x509.ts'
import { addressOf, mayAdminister, parseAuthorization } from '../http/authorization.ts'
import type { ServerView } from '../view/server-view.ts'
import { ApiError, badRequest } from './api-error.ts'
import { InternalClient, type Credentials } from './internal-client.ts'

/** Roles of callers, the least first; ACLs apply in addition. */
export const roles = ['none', 'metadata', 'read', 'write', 'admin'] as const
export type Role = (typeof roles)[number]

export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

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
  private readonly open = new Map<string, Promise<InternalClient>>()
  private readonly checks: NodeJS.Timeout

  constructor(view: ServerView) {
    this.view = view
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
    const isCertified = parseAuthorization(header).scheme === 'x509'
    const proven = isCertified ? this.certified(request) : undefined
    const client = await this.clientOf(address, header, proven)
    client.uses++
    try {
      const isAdmin = header !== '' && mayAdminister(this.view, client.identities)
      return await work({ client, role: isAdmin ? 'admin' : this.anonymous })
    } finally {
      client.uses--
      client.lastUsedMs = performance.now()
    }
  }

  stop(): void {
    clearInterval(this.checks)
    void this.closeIdle(Infinity)
  }

  /** The identities of the client certificate, which the header asks to use. */
  private certified({ socket }: IncomingMessage): readonly Id[] {
    const identities = socketIdentities(socket, this.view.config.x509SuperUser)
    if (identities !== undefined) return identities
    throw new ApiError(401, 'noCertificate', 'The connection has no client certificate')
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
