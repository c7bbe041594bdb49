import { permissions, type Acl } from '@zabra/protocol'
import type { AclName } from '../client/request.ts'

const { read, create, delete: remove, admin, all } = permissions

const lists: Readonly<Record<AclName, readonly Acl[]>> = {
  open: [{ perms: all, id: { scheme: 'world', id: 'anyone' } }],
  readOnly: [{ perms: read | create | remove | admin, id: { scheme: 'world', id: 'anyone' } }],
  alice: [
    { perms: read | admin | remove | create, id: { scheme: 'world', id: 'anyone' } },
    { perms: all, id: { scheme: 'digest', id: 'alice:hash' } },
  ],
  auth: [
    { perms: all, id: { scheme: 'auth', id: '' } },
    { perms: remove | create | admin, id: { scheme: 'world', id: 'anyone' } },
  ],
}

/** The ACL as it is requested. */
export function aclOf(name: AclName): Acl[] {
  return lists[name].map((entry) => ({ ...entry }))
}

/** The ACL as it is stored: `auth` becomes the caller's identities; undefined if it is refused. */
export function storedAcl(name: AclName, identities: readonly string[]): Acl[] | undefined {
  const stored: Acl[] = []
  for (const { perms, id } of lists[name]) {
    if (id.scheme !== 'auth') {
      stored.push({ perms, id })
      continue
    }
    if (identities.length === 0) return undefined
    for (const identity of identities)
      stored.push({ perms, id: { scheme: 'digest', id: identity } })
  }
  return stored
}

export function mayDo(acl: readonly Acl[], perms: number, identities: readonly string[]): boolean {
  return acl.some(
    ({ perms: granted, id }) =>
      (granted & perms) !== 0 &&
      (id.scheme === 'world' || (id.scheme === 'digest' && identities.includes(id.id ?? ''))),
  )
}
