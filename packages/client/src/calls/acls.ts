import { permissions, type Acl } from '@zabra/protocol'

/** Everybody may do everything. */
export const openAcl: readonly Acl[] = acl(permissions.all, 'world', 'anyone')

/** Whoever makes the node may do everything, by the identities that its connection has then. */
export const creatorAcl: readonly Acl[] = acl(permissions.all, 'auth', '')

/** Everybody may read. */
export const readAcl: readonly Acl[] = acl(permissions.read, 'world', 'anyone')

function acl(perms: number, scheme: string, id: string): readonly Acl[] {
  return [{ perms, id: { scheme, id } }]
}
