import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Longer answers are rejected. */
const answerBytesMax = 4096
const nonceBytes = 32
const nonceCount = '00000001'

/** The service names of an exchange: for clients, or between servers. */
export interface DigestMd5Service {
  readonly protocol: string
  readonly serverName: string
}

export const clientService: DigestMd5Service = { protocol: 'zookeeper', serverName: 'zk-sasl-md5' }
export const quorumService: DigestMd5Service = {
  protocol: 'zookeeper-quorum',
  serverName: 'zk-quorum-sasl-md5',
}

/** Passwords by user. */
type Users = ReadonlyMap<string, string>

export type DigestMd5Answer =
  | { readonly isOver: false; readonly token: Uint8Array }
  /**
   * The client has proven to be this user; the token proves that the server knows the password,
   * too.
   */
  | { readonly isOver: true; readonly token: Uint8Array; readonly user: string }

/** The server's side of SASL DIGEST-MD5 (RFC 2831), with quality of protection `auth`. */
export class DigestMd5Server {
  private readonly users: Users
  private readonly service: DigestMd5Service
  private readonly nonce = randomBytes(nonceBytes).toString('base64')
  private state: 'new' | 'challenged' | 'over' = 'new'

  constructor(users: Users, service: DigestMd5Service) {
    this.users = users
    this.service = service
  }

  /** Undefined if the other side has not proven anything; the exchange is over then. */
  answer(token: Uint8Array): DigestMd5Answer | undefined {
    const { state } = this
    this.state = state === 'new' && token.length === 0 ? 'challenged' : 'over'
    if (this.state === 'challenged') return { isOver: false, token: Buffer.from(this.challenge()) }
    if (state !== 'challenged' || token.length > answerBytesMax) return undefined
    return this.check(Buffer.from(token).toString('utf8'))
  }

  private challenge(): string {
    const { nonce, service } = this
    return `realm="${service.serverName}",nonce="${nonce}",charset=utf-8,algorithm=md5-sess`
  }

  private check(text: string): DigestMd5Answer | undefined {
    const said = parseDirectives(text)
    const { nonce, service } = this
    const get = (name: string): string => said?.get(name) ?? ''
    const user = get('username')
    const uri = `${service.protocol}/${service.serverName}`
    const isSound =
      get('realm') === service.serverName &&
      get('nonce') === nonce &&
      get('nc') === nonceCount &&
      get('cnonce') !== '' &&
      (said?.get('qop') ?? 'auth') === 'auth' &&
      get('digest-uri').toLowerCase() === uri
    // Answers for unknown users take as long as those for known ones.
    const password = this.users.get(user)
    const proofs = digestProofs({
      user,
      password: password ?? '',
      realm: service.serverName,
      nonce,
      cnonce: get('cnonce'),
      authzid: said?.get('authzid'),
      uri: get('digest-uri'),
    })
    const isProven = sameText(get('response'), proofs.client)
    if (!isSound || !isProven || password === undefined) return undefined
    return { isOver: true, token: Buffer.from(`rspauth=${proofs.server}`), user }
  }
}

/**
 * The client's side, for servers that authenticate to others. Throws if the other side is no such
 * server.
 */
export class DigestMd5Client {
  private readonly user: string
  private readonly password: string
  private readonly service: DigestMd5Service
  private expected: string | undefined
  /** Throws unless the other side has proven that it knows the password. */
  isOver = false

  constructor(own: { username: string; password: string }, service: DigestMd5Service) {
    this.user = own.username
    this.password = own.password
    this.service = service
  }

  answer(challenge: Uint8Array): Uint8Array {
    const said = parseDirectives(Buffer.from(challenge).toString('utf8'))
    if (this.expected !== undefined) {
      if (!sameText(said?.get('rspauth') ?? '', this.expected)) {
        throw new Error('the other server could not prove that it knows the password')
      }
      this.isOver = true
      return Buffer.alloc(0)
    }
    const nonce = said?.get('nonce')
    if (nonce === undefined) throw new Error('a challenge without a nonce')
    const { service, user, password } = this
    const realm = said?.get('realm') ?? service.serverName
    const cnonce = randomBytes(nonceBytes).toString('base64')
    const uri = `${service.protocol}/${service.serverName}`
    const proofs = digestProofs({ user, password, realm, nonce, cnonce, authzid: undefined, uri })
    this.expected = proofs.server
    return Buffer.from(
      [
        'charset=utf-8',
        `username="${quoted(user)}"`,
        `realm="${quoted(realm)}"`,
        `nonce="${quoted(nonce)}"`,
        `nc=${nonceCount}`,
        `cnonce="${cnonce}"`,
        `digest-uri="${uri}"`,
        'maxbuf=65536',
        `response=${proofs.client}`,
        'qop=auth',
      ].join(','),
    )
  }
}

interface Parameters {
  readonly user: string
  readonly password: string
  readonly realm: string
  readonly nonce: string
  readonly cnonce: string
  readonly authzid: string | undefined
  readonly uri: string
}

/**
 * RFC 2831, 2.1.2.1 and 2.1.3: the value with which each side proves that it knows the password.
 */
function digestProofs(p: Parameters): { client: string; server: string } {
  const authzid = p.authzid === undefined ? '' : `:${p.authzid}`
  const secret = Buffer.concat([
    md5(Buffer.concat([`${p.user}:`, `${p.realm}:`, p.password].map(hashedText))),
    Buffer.from(`:${p.nonce}:${p.cnonce}${authzid}`),
  ])
  const proof = (a2: string): string =>
    hex(`${hex(secret)}:${p.nonce}:${nonceCount}:${p.cnonce}:auth:${hex(a2)}`)
  return { client: proof(`AUTHENTICATE:${p.uri}`), server: proof(`:${p.uri}`) }
}

/** Parses `name=value,name="value"`; undefined if a name comes twice, or the syntax is wrong. */
function parseDirectives(text: string): ReadonlyMap<string, string> | undefined {
  const pattern = /[\s,]*([^=,\s"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,"\s]*))\s*(?=,|$)/y
  const directives = new Map<string, string>()
  while (pattern.lastIndex < text.length) {
    const [, name, inQuotes, plain] = pattern.exec(text) ?? []
    if (name === undefined || directives.has(name)) return undefined
    directives.set(name, inQuotes?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
  }
  return directives
}

/**
 * Text that fits into ISO 8859-1 is hashed in that encoding, regardless of the charset directive.
 */
function hashedText(text: string): Buffer {
  return Buffer.from(text, /^[\0-\u00ff]*$/.test(text) ? 'latin1' : 'utf8')
}

function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

const quoted = (text: string): string => text.replaceAll(/["\\]/g, '\\$&')
const md5 = (data: string | Uint8Array): Buffer => createHash('md5').update(data).digest()
const hex = (data: string | Uint8Array): string => md5(data).toString('hex')
