import { createHash } from 'node:crypto'
import type { Authenticator, SaslExchange } from '@zabra/core'
import { decodeText, encodeText, type Id } from '@zabra/protocol'
import { knownProviders } from '../config/auth-providers.ts'
import { clientService, DigestMd5Server } from './digest-md5.ts'

export interface AuthOptions {
  readonly digestEnabled: boolean
  /** An algorithm name of node:crypto. */
  readonly digestAlgorithm: string
  /** `user:hash` of the super user. */
  readonly superDigest: string | undefined
  /** Java class names of providers, by the key after `authProvider.`. */
  readonly providers?: ReadonlyMap<string, string>
  readonly sasl?: {
    /** Passwords by user; undefined if SASL is not configured. */
    readonly clients: ReadonlyMap<string, string> | undefined
    readonly superUsers: ReadonlySet<string>
    readonly allowFailed: boolean
  }
  /** Names that the scheme ensemble accepts; an empty list accepts any. */
  readonly ensembleNames?: readonly string[]
}

/** The configured schemes, and those that need no configuration: ip and digest. */
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
      // SASL has its own packets, and certificates come with the connection.
      if (scheme !== 'digest' || token === null) return undefined
      return digestIdentities(decodeText(token), options)
    },
    ...(users === undefined
      ? {}
      : { startSasl: () => saslExchange(users, sasl?.superUsers ?? new Set()) }),
    keepsSaslFailed: sasl?.allowFailed ?? false,
  }
}

/** Lets a client name the ensemble it expects, so that another one does not serve it. */
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

/** The passwords of other users count only in ACLs that contain their hash. */
function namesSuperUser(token: Uint8Array, superDigest: string | undefined): boolean {
  if (superDigest === undefined) return false
  const user = encodeText(superDigest.slice(0, superDigest.indexOf(':') + 1))
  return user.every((byte, i) => token[i] === byte)
}

/** Proves nothing by itself: a password counts only in ACLs that contain its hash. */
function digestIdentities(userAndPassword: string, options: AuthOptions): Id[] {
  const id = digestOf(userAndPassword, options.digestAlgorithm)
  const identities: Id[] = [{ scheme: 'digest', id }]
  if (id === options.superDigest) identities.unshift({ scheme: 'super', id: '' })
  return identities
}

/** `user:base64(hash(user:password))`, as in ACLs. */
export function digestOf(userAndPassword: string, algorithm = 'sha1'): string {
  const user = userAndPassword.split(':', 1)[0] ?? ''
  const hash = createHash(algorithm).update(userAndPassword).digest('base64')
  return `${user}:${hash}`
}
