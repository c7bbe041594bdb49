import { encodeText, errorCodes, permissions, type Acl, type Id } from '@zabra/protocol'
import type { AclEntry } from './acl-table.ts'
import { isDistinguishedName } from './distinguished-name.ts'
import { Grants, indexedLengthMin } from './grants.ts'
import { isInNetwork, parseNetwork } from './ip.ts'

/** What the rules about permissions depend on. */
export interface AclRules {
  /** `skipACL`: nothing is checked. */
  readonly skipAcl: boolean
  /** The schemes that have a provider here, besides the built-in world, auth and super. */
  readonly schemes: ReadonlySet<string>
}

/** So many bytes more than was asked for may still be stored. */
export interface Growth {
  bytesLeft: number
}

/** Whether someone with these identities may do one of `perms`. */
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
 * Whether every bit of `perms` is granted to these identities by name, by whatever entries: what
 * admin commands ask for. What everybody may do does not count, nor that nothing is checked.
 */
export function grantsEach(entry: AclEntry, perms: number, identities: readonly Id[]): boolean {
  const grants = new Grants(entry.acl)
  for (let bit = 1; bit <= permissions.admin; bit <<= 1) {
    if ((perms & bit) !== 0 && !grants.allow(bit, identities)) return false
  }
  return true
}

/** Without a configured provider an identity of SASL matches no ACL. */
function withProvider({ schemes }: AclRules, identities: readonly Id[]): readonly Id[] {
  return schemes.has('sasl') ? identities : identities.filter(({ scheme }) => scheme !== 'sasl')
}

function matches({ schemes }: AclRules, identity: Id, wanted: Id): boolean {
  if (identity.scheme === 'ip') return isInNetwork(identity.id ?? '', wanted.id ?? '')
  if (identity.scheme !== 'sasl') return identity.id === wanted.id
  // Without a configured provider the identity matches no ACL. The user `super` matches all of them.
  return schemes.has('sasl') && (identity.id === wanted.id || identity.id === 'super')
}

/**
 * The list as it will be stored: duplicates gone, `auth` replaced by who the caller is.
 * Otherwise the error that refuses it.
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
      // Some entries times some identities can be more than anybody reads again.
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

/** Bytes of these identities in a list of permissions, or in a packet to the leader. */
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

/** By their keys: comparing each with each would let one long list stall the server. */
function withoutDuplicates(acl: readonly Acl[]): Iterable<Acl> {
  const distinct = new Map<string, Acl>()
  for (const entry of acl) {
    const key = JSON.stringify([entry.perms, entry.id.scheme, entry.id.id])
    if (!distinct.has(key)) distinct.set(key, entry)
  }
  return distinct.values()
}

/** An address alone authenticates nobody. */
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
  // No connection has an identity of the scheme ensemble.
  return scheme === 'ensemble' ? errorCodes.invalidAcl : 0
}

/** A plain name, or one of Kerberos: `service/host@REALM`. */
function isPrincipal(id: string): boolean {
  return !id.includes('@') || /^[^/@]*(?:\/[^/@]*)?@[^/@]*$/.test(id)
}

/** Hides the hashes of passwords from those who may not change the list anyway. */
export function maskAcl(acl: readonly Acl[]): Acl[] {
  return acl.map((entry) => {
    const { scheme, id } = entry.id
    if (scheme !== 'digest' || id === null || !id.includes(':')) return entry
    return { perms: entry.perms, id: { scheme, id: `${id.slice(0, id.indexOf(':'))}:x` } }
  })
}
