import { createHash } from 'node:crypto'
import { permissions, type Acl } from '@zabra/protocol'

/** Who presents this name and password by `addAuth('digest', 'name:password')` may do so much. */
export function digestAcl(name: string, password: string, perms: number = permissions.all): Acl[] {
  const hash = createHash('sha1').update(`${name}:${password}`).digest('base64')
  return [{ perms, id: { scheme: 'digest', id: `${name}:${hash}` } }]
}
