import { createHash } from 'node:crypto'
import type { Authenticator, SaslExchange } from '@zabra/core'
import { decodeText, encodeText, type Id } from '@zabra/protocol'
import { knownProviders } from '../config/auth-providers.ts'
import { clientService, DigestMd5Server } from './digest-md5.ts'

export interface AuthOptions {
  readonly digestEnabled: boolean
  /** A name that node:crypto knows. */
  readonly digestAlgorithm: string
  /** `user:hash` of the one who may do everything. */
  readonly superDigest: string | undefined
  /** Java classes of providers, by what follows `authProvider.`. */
  readonly providers?: ReadonlyMap<string, string>
  readonly sasl?: {
    /** Passwords by user; undefined where SASL is not configured. */
    readonly clients: ReadonlyMap<string, string> | undefined
    readonly superUsers: ReadonlySet<string>
    readonly allowFailed: boolean
  }
  /** Names that the scheme ensemble accepts; none given accepts any. */
  readonly ensembleNames?: readonly string[]
}

/** The schemes that are configured, with those that need no configuration: addresses and passwords. */
export function makeAuthenticator(options: AuthOptions): Authenticator {
  const schemes = new Set(['ip'])
  if (options.digestEnabled) schemes.add('digest')
  for (const className of options.providers?.values() ?? []) {
    const scheme = knownProviders[className.split('.').at(-1) ?? '']
    if (scheme !== undefined) schemes.add(scheme)
  }
  const { sasl, ensembleNames = [] } = options
  const users = sasl?.clients
  return {
    schemes,
    isGuarded: (scheme, token) =>
      scheme === 'digest' && token !== null && namesSuperUser(token, options.superDigest),
    authenticate(scheme, token, address) {
      if (!schemes.has(scheme)) return undefined
      if (scheme === 'ip') return [{ scheme, id: address }]
      if (scheme === 'ensemble') return isOurs(token, ensembleNames) ? [] : undefined
      // SASL has packets of its own, certificates come with the connection.
      if (scheme !== 'digest' || token === null) return undefined
      return digestIdentities(decodeText(token), options)
    },
    ...(users === undefined
      ? {}
      : { startSasl: () => saslExchange(users, sasl?.superUsers ?? new Set()) }),
    keepsSaslFailed: sasl?.allowFailed ?? false,
  }
}

/** A client may say which ensemble it means, so that it is not served by another. */
function isOurs(token: Uint8Array | null, names: readonly string[]): boolean {
  return names.length === 0 || (token !== null && names.includes(decodeText(token)))
}

function saslExchange(
  users: ReadonlyMap<string, string>,
  superUsers: ReadonlySet<string>,
): SaslExchange {
  const server = new DigestMd5Server(users, clientService)
  return {
    answer(token) {
      const answer = server.answer(token)
      if (answer === undefined || !answer.isOver) return answer
      const { user: id } = answer
      const identities: Id[] = [{ scheme: 'sasl', id }]
      if (superUsers.has(id)) identities.push({ scheme: 'super', id: '' })
      return { token: answer.token, identities }
    },
  }
}

/** Everybody else's password counts only where an ACL holds its hash. */
function namesSuperUser(token: Uint8Array, superDigest: string | undefined): boolean {
  if (superDigest === undefined) return false
  const user = encodeText(superDigest.slice(0, superDigest.indexOf(':') + 1))
  return user.every((byte, i) => token[i] === byte)
}

/** Proves nothing by itself: a password counts only where an ACL holds its hash. */
function digestIdentities(userAndPassword: string, options: AuthOptions): Id[] {
  const id = digestOf(userAndPassword, options.digestAlgorithm)
  const identities: Id[] = [{ scheme: 'digest', id }]
  if (id === options.superDigest) identities.unshift({ scheme: 'super', id: '' })
  return identities
}

/** `user:base64(hash(user:password))`, as it stands in ACLs. */
export function digestOf(userAndPassword: string, algorithm = 'sha1'): string {
  const user = userAndPassword.split(':', 1)[0] ?? ''
  const hash = createHash(algorithm).update(userAndPassword).digest('base64')
  return `${user}:${hash}`
}
