import { createHash } from 'node:crypto'
import type { Acl } from '@zabra/protocol'
import { allPermissions, entry, openAcl, type Permissions } from '../calls/acls.ts'

/**
 * Builds ACLs. Each call returns a list; combine lists with `...`.
 *
 *     const mine = [...acl.digest('ann', 'secret'), ...acl.world('r')]
 *     await client.create('/diary', 'x', { acl: mine })
 */
export const acl = {
  /** Everybody may do everything. */
  open: openAcl,

  /**
   * The creator of the node may do everything, with the identities that its connection has then.
   */
  creator: entry('auth', '', allPermissions),

  /** Everybody may read. */
  read: entry('world', 'anyone', 'r'),

  /** Permissions for everybody: `acl.world('r')`. */
  world(perms: Permissions): readonly Acl[] {
    return entry('world', 'anyone', perms)
  },

  /** Clients that present this name and password by `addAuth('digest', 'name:password')`. */
  digest(name: string, password: string, perms: Permissions = allPermissions): readonly Acl[] {
    const hash = createHash('sha1').update(`${name}:${password}`).digest('base64')
    return entry('digest', `${name}:${hash}`, perms)
  },

  /** Clients from an address or a network: `acl.ip('10.0.0.0/8', 'r')`. */
  ip(address: string, perms: Permissions = allPermissions): readonly Acl[] {
    return entry('ip', address, perms)
  },

  /** Clients that have proved this name by SASL. */
  sasl(name: string, perms: Permissions = allPermissions): readonly Acl[] {
    return entry('sasl', name, perms)
  },

  /** Clients whose certificate has this subject. */
  x509(subject: string, perms: Permissions = allPermissions): readonly Acl[] {
    return entry('x509', subject, perms)
  },

  /** An identity of any other scheme. */
  of: entry,
} as const
