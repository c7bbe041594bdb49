import { createHash } from 'node:crypto'
import type { Authenticator } from '@zabra/core'
import { decodeText, encodeText, type Id } from '@zabra/protocol'

export interface AuthOptions {
  readonly digestEnabled: boolean
  /** A name that node:crypto knows. */
  readonly digestAlgorithm: string
  /** `user:hash` of whoever may do everything. */
  readonly superDigest: string | undefined
}

/** The schemes a server knows without further configuration: addresses and passwords. */
export function makeAuthenticator(options: AuthOptions): Authenticator {
  const schemes = new Set(['ip'])
  if (options.digestEnabled) schemes.add('digest')
  return {
    schemes,
    isGuarded: (scheme, token) =>
      scheme === 'digest' && token !== null && namesSuperUser(token, options.superDigest),
    authenticate(scheme, token, address) {
      if (!schemes.has(scheme)) return undefined
      if (scheme === 'ip') return [{ scheme, id: address }]
      return token === null ? undefined : digestIdentities(decodeText(token), options)
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
