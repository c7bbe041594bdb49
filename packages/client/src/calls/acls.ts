import { permissions, type Acl } from '@zabra/protocol'
import { shown } from './arguments.ts'

/**
 * Permissions of an identity: letters, as ZooKeeper's own tools write them (`c`reate, `d`elete,
 * `r`ead, `w`rite, `a`dmin), or the bits of `permissions`.
 */
export type Permissions = string | number

const bits: Readonly<Record<string, number>> = {
  c: permissions.create,
  d: permissions.delete,
  r: permissions.read,
  w: permissions.write,
  a: permissions.admin,
}

/** Every permission. */
export const allPermissions = 'cdrwa'

/** An entry of an ACL. */
export function entry(scheme: string, id: string, perms: Permissions): readonly Acl[] {
  return [{ perms: bitsOf(perms), id: { scheme, id } }]
}

function bitsOf(perms: Permissions): number {
  if (typeof perms === 'number' && (perms & permissions.all) === perms && perms > 0) return perms
  const letters = typeof perms === 'string' ? perms.split('') : []
  if (letters.length === 0 || letters.some((letter) => bits[letter] === undefined))
    throw new TypeError(`permissions are letters of 'cdrwa', not ${shown(perms)}`)
  return letters.reduce((all, letter) => all | bits[letter]!, 0)
}

/** The default of clients: everybody may do everything. */
export const openAcl: readonly Acl[] = entry('world', 'anyone', allPermissions)
