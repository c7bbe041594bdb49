import {
  int,
  long,
  nullableText,
  nullableVector,
  remembered,
  vector,
  type Codec,
  type TypeOf,
} from '../codec.ts'
import { record } from '../record.ts'

/** An identity: a scheme, and an id in that scheme. */
export const Id = record({ scheme: nullableText, id: nullableText })
export interface Id extends TypeOf<typeof Id> {}

/** One entry of an ACL: permissions for an identity. */
export const Acl = record({ perms: int, id: Id })
export interface Acl extends TypeOf<typeof Acl> {}

export const AclList = vector(Acl)
/** Most clients always use the same list. */
export const NullableAclList = remembered(
  nullableVector(Acl) as Codec<readonly Acl[] | null>,
  (memory) => memory.acl,
)

/** The stat of a znode as clients see it; note that pzxid comes last. */
export const Stat = record({
  czxid: long,
  mzxid: long,
  ctime: long,
  mtime: long,
  version: int,
  cversion: int,
  aversion: int,
  ephemeralOwner: long,
  dataLength: int,
  numChildren: int,
  pzxid: long,
})
export interface Stat extends TypeOf<typeof Stat> {}

export const statBytes = 68
