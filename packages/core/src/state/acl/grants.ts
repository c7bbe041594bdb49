import type { Acl, Id } from '@zabra/protocol'
import { parseAddress, parseNetwork } from './ip.ts'

/** Shorter lists are searched entry by entry, which is faster than an index. */
export const indexedLengthMin = 16

/**
 * An index of a long access control list. A check looks up each identity instead of comparing it
 * with every entry. One request can bring a list of tens of thousands of entries.
 */
export class Grants {
  /** The permissions of each identity, by scheme. */
  private readonly byScheme = new Map<string | null, Map<string | null, number>>()
  /** The permissions of each network, by the length of its addresses and of its prefix. */
  private readonly networks = new Map<number, Map<string, number>>()

  /** All permissions of any SASL user: the user `super` matches every one of them. */
  private saslPerms = 0

  constructor(acl: readonly Acl[]) {
    for (const { perms, id } of acl) {
      if (id.scheme === 'sasl') this.saslPerms |= perms
      if (id.scheme === 'ip') this.addNetwork(id.id ?? '', perms)
      else this.add(id, perms)
    }
  }

  /** Whether one of these identities has one of `perms`. */
  allow(perms: number, identities: readonly Id[]): boolean {
    for (const { scheme, id } of identities) {
      const granted = this.grantedTo(scheme, id)
      if (granted !== undefined && (granted & perms) !== 0) return true
    }
    return false
  }

  private grantedTo(scheme: string | null, id: string | null): number | undefined {
    if (scheme === 'ip') return this.ofAddress(id ?? '')
    if (scheme === 'sasl' && id === 'super') return this.saslPerms
    return this.byScheme.get(scheme)?.get(id)
  }

  private add({ scheme, id }: Id, perms: number): void {
    let byId = this.byScheme.get(scheme)
    if (byId === undefined) this.byScheme.set(scheme, (byId = new Map()))
    byId.set(id, (byId.get(id) ?? 0) | perms)
  }

  private addNetwork(text: string, perms: number): void {
    const network = parseNetwork(text)
    if (network === undefined) return
    const { address, bits } = network
    const kind = kindOf(address, bits)
    let ofKind = this.networks.get(kind)
    if (ofKind === undefined) this.networks.set(kind, (ofKind = new Map()))
    const key = prefixOf(address, bits)
    ofKind.set(key, (ofKind.get(key) ?? 0) | perms)
  }

  private ofAddress(text: string): number {
    const address = parseAddress(text)
    let perms = 0
    if (address === undefined) return perms
    for (const [kind, networks] of this.networks) {
      const bits = kind & 0xff
      if (kind !== kindOf(address, bits)) continue
      perms |= networks.get(prefixOf(address, bits)) ?? 0
    }
    return perms
  }
}

/** A key made of the prefix length and the address length. */
function kindOf(address: readonly number[], bits: number): number {
  return (address.length << 8) | bits
}

function prefixOf(address: readonly number[], bits: number): string {
  const whole = bits >> 3
  const rest = bits & 7
  const last = rest === 0 ? [] : [address[whole]! & (0xff << (8 - rest))]
  return [...address.slice(0, whole), ...last].join('.')
}
