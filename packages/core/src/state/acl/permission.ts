import { encodeText, errorCodes, permissions, type Acl, type Id } from '@zabra/protocol'
import type { AclEntry } from './acl-table.ts'
import { isDistinguishedName } from './distinguished-name.ts'
import { Grants, indexedLengthMin } from './grants.ts'
import { isInNetwork, parseNetwork } from './ip.ts'

/** The settings that the permission checks depend on. */
export interface AclRules {
  /** `skipACL`: turns off all checks. */
  readonly skipAcl: boolean
  /** The schemes with a provider on this server, besides the built-in world, auth and super. */
  readonly schemes: ReadonlySet<string>
}

/** The number of bytes by which lists may still grow when they are expanded for storage. */
export interface Growth {
  bytesLeft: number
}

/** Whether a caller with these identities has one of `perms`. */
export function allows(
  rules: AclRules,
  entry: AclEntry,
  perms: number,
  identities: readonly Id[],
): boolean {
  if ((entry.worldPerms & perms) !== 0) return true
  if (rules.skipAcl || entry.acl.length === 0) return true
  for (const identity of identities) if (identity.scheme === 'super') return true
  if (entry.acl.length >= indexedLengthMin) {
    entry.grants ??= new Grants(entry.acl)
    return entry.grants.allow(perms, withProvider(rules, identities))
  }
  for (const { perms: granted, id } of entry.acl) {
    if ((granted & perms) === 0) continue
    for (const identity of identities) {
      if (identity.scheme === id.scheme && matches(rules, identity, id)) return true
    }
  }
  return false
}

/**
 * Whether these identities, by name, are granted every bit of `perms`; several entries may
 * contribute. Admin commands require this. Permissions of `world:anyone` and `skipACL` do not
 * count.
 */
export function grantsEach(entry: AclEntry, perms: number, identities: readonly Id[]): boolean {
  const grants = new Grants(entry.acl)
  for (let bit = 1; bit <= permissions.admin; bit <<= 1) {
    if ((perms & bit) !== 0 && !grants.allow(bit, identities)) return false
  }
  return true
}

/** Drops SASL identities if no SASL provider is configured: they match no entry. */
function withProvider({ schemes }: AclRules, identities: readonly Id[]): readonly Id[] {
  return schemes.has('sasl') ? identities : identities.filter(({ scheme }) => scheme !== 'sasl')
}

function matches({ schemes }: AclRules, identity: Id, wanted: Id): boolean {
  if (identity.scheme === 'ip') return isInNetwork(identity.id ?? '', wanted.id ?? '')
  if (identity.scheme !== 'sasl') return identity.id === wanted.id
  // Without a configured provider a SASL identity matches no entry. The user `super` matches all.
  return schemes.has('sasl') && (identity.id === wanted.id || identity.id === 'super')
}

/**
 * The list as it will be stored: without duplicates, and with `auth` replaced by the identities of
 * the caller. Otherwise the error code that refuses the list.
 */
export function fixAcl(
  rules: AclRules,
  acl: readonly Acl[] | null,
  identities: readonly Id[],
  growth?: Growth,
): readonly Acl[] | number {
  if (acl === null || acl.length === 0) return errorCodes.invalidAcl
  if (acl.length === 1 && isAnyone(acl[0]!.id)) return acl
  const fixed: Acl[] = []
  for (const entry of acl.length > 1 ? withoutDuplicates(acl) : acl) {
    const { perms, id } = entry
    if (id.scheme === null) return errorCodes.invalidAcl
    if (id.scheme === 'world') {
      if (id.id === null) return errorCodes.marshallingError
      if (id.id !== 'anyone') return errorCodes.invalidAcl
      fixed.push(entry)
    } else if (id.scheme === 'auth') {
      const own = identities.filter(({ scheme }) => isAuthenticating(rules, scheme))
      if (own.length === 0) return errorCodes.invalidAcl
      // A list of `auth` entries times many identities could be longer than a packet may be.
      if (growth !== undefined && (growth.bytesLeft -= identityBytes(own)) < 0) {
        return errorCodes.invalidAcl
      }
      fixed.push(...own.map((identity) => ({ perms, id: identity })))
    } else {
      const problem = idProblem(rules, id)
      if (problem !== 0) return problem
      fixed.push(entry)
    }
  }
  return fixed
}

/** The encoded size of these identities in an access control list, or in a packet to the leader. */
export function identityBytes(identities: readonly Id[]): number {
  const bytesOver = 12
  let bytes = 0
  for (const { scheme, id } of identities) {
    bytes += bytesOver + encodeText(scheme ?? '').length + encodeText(id ?? '').length
  }
  return bytes
}

function isAnyone({ scheme, id }: Id): boolean {
  return scheme === 'world' && id === 'anyone'
}

/** Compares keys in a set: comparing every pair would let one long list stall the server. */
function withoutDuplicates(acl: readonly Acl[]): Iterable<Acl> {
  const distinct = new Map<string, Acl>()
  for (const entry of acl) {
    const key = JSON.stringify([entry.perms, entry.id.scheme, entry.id.id])
    if (!distinct.has(key)) distinct.set(key, entry)
  }
  return distinct.values()
}

/** Whether an identity of this scheme counts as authenticated. An IP address alone does not. */
function isAuthenticating(rules: AclRules, scheme: string | null): boolean {
  return scheme !== null && scheme !== 'ip' && scheme !== 'super' && rules.schemes.has(scheme)
}

function idProblem(rules: AclRules, { scheme, id }: Id): number {
  if (scheme === null || !rules.schemes.has(scheme)) return errorCodes.invalidAcl
  if (id === null) return errorCodes.marshallingError
  if (scheme === 'digest') {
    const parts = id.split(':')
    return parts.length === 2 && parts[1] !== '' ? 0 : errorCodes.invalidAcl
  }
  if (scheme === 'ip') return parseNetwork(id) === undefined ? errorCodes.invalidAcl : 0
  if (scheme === 'x509') return isDistinguishedName(id) ? 0 : errorCodes.invalidAcl
  if (scheme === 'sasl') return isPrincipal(id) ? 0 : errorCodes.invalidAcl
  // No connection can have an identity of the scheme `ensemble`.
  return scheme === 'ensemble' ? errorCodes.invalidAcl : 0
}

/** Whether this is a plain name or a Kerberos name: `service/host@REALM`. */
function isPrincipal(id: string): boolean {
  return !id.includes('@') || /^[^/@]*(?:\/[^/@]*)?@[^/@]*$/.test(id)
}

/** Hides password hashes from callers who may not change the list. */
export function maskAcl(acl: readonly Acl[]): Acl[] {
  return acl.map((entry) => {
    const { scheme, id } = entry.id
    if (scheme !== 'digest' || id === null || !id.includes(':')) return entry
    return { perms: entry.perms, id: { scheme, id: `${id.slice(0, id.indexOf(':'))}:x` } }
  })
}
