import { permissions, type Acl } from '@zabra/protocol'
import type { Grants } from './grants.ts'

/** A list of permissions that any number of znodes share. */
export interface AclEntry {
  readonly id: number
  readonly acl: readonly Acl[]
  /** What everybody may do: the answer to nearly every check. */
  readonly worldPerms: number
  readonly key: string
  uses: number
  /** Of a long list, once somebody's permission was looked up in it. */
  grants: Grants | undefined
}

const openAcl: readonly Acl[] = [{ perms: permissions.all, id: { scheme: 'world', id: 'anyone' } }]

/** Stands for a list that a damaged snapshot forgot: nobody but the super user gets in. */
const lostAcl: readonly Acl[] = [{ perms: 0, id: { scheme: 'world', id: 'anyone' } }]

/** Each distinct list once, by number. Numbers are this server's own and mean nothing elsewhere. */
export class AclTable {
  /** Never stored: the list of the nodes every server starts with. */
  readonly open: AclEntry = makeEntry(-1, openAcl)
  private readonly lost: AclEntry = makeEntry(-2, lostAcl)
  private readonly byId = new Map<number, AclEntry>()
  private readonly byKey = new Map<string, AclEntry>()
  private nextId = 1
  /** The list that was last looked up and its entry: requests mostly bring the very same one. */
  private lastList: readonly Acl[] | undefined
  private lastEntry: AclEntry | undefined

  get(id: number): AclEntry {
    return id === -1 ? this.open : (this.byId.get(id) ?? this.lost)
  }

  has(id: number): boolean {
    return id === -1 || this.byId.has(id)
  }

  /** The entry of a list, made when there is none; it counts as used only once acquired. */
  intern(acl: readonly Acl[]): AclEntry {
    return this.known(acl) ?? this.add(this.nextId, acl, keyOf(acl))
  }

  /** The entry a list has, or would have: for looking ahead, nothing is remembered. */
  lookUp(acl: readonly Acl[]): AclEntry {
    return this.known(acl) ?? makeEntry(this.lost.id, acl)
  }

  private known(acl: readonly Acl[]): AclEntry | undefined {
    if (acl === this.lastList) return this.lastEntry
    const entry = this.byKey.get(keyOf(acl))
    if (entry !== undefined) {
      this.lastList = acl
      this.lastEntry = entry
    }
    return entry
  }

  acquire(id: number): void {
    const entry = this.byId.get(id)
    if (entry !== undefined) entry.uses++
    // A node of a fuzzy snapshot may name a list that is younger than the snapshot's table: no
    // other list may get that number before replay mends the node.
    else this.nextId = Math.max(this.nextId, id + 1)
  }

  release(id: number): void {
    const entry = this.byId.get(id)
    if (entry !== undefined && --entry.uses <= 0) this.drop(entry)
  }

  /** From a snapshot. Its nodes acquire it as they are read. */
  load(id: number, acl: readonly Acl[]): void {
    this.add(id, acl, keyOf(acl))
  }

  /** Forgets lists that no znode refers to. */
  dropUnused(): void {
    for (const entry of this.byId.values()) if (entry.uses <= 0) this.drop(entry)
  }

  *entries(): IterableIterator<readonly [bigint, readonly Acl[]]> {
    for (const entry of this.byId.values()) yield [BigInt(entry.id), entry.acl]
  }

  private add(id: number, acl: readonly Acl[], key: string): AclEntry {
    const entry = makeEntry(id, acl, key)
    this.byId.set(id, entry)
    this.byKey.set(key, entry)
    this.lastList = undefined
    this.nextId = Math.max(this.nextId, id + 1)
    return entry
  }

  private drop(entry: AclEntry): void {
    this.byId.delete(entry.id)
    if (this.byKey.get(entry.key) === entry) this.byKey.delete(entry.key)
    this.lastList = undefined
  }
}

function makeEntry(id: number, acl: readonly Acl[], key = keyOf(acl)): AclEntry {
  let worldPerms = 0
  for (const { perms, id: who } of acl) {
    if (who.scheme === 'world' && who.id === 'anyone') worldPerms |= perms
  }
  return { id, acl, worldPerms, key, uses: 0, grants: undefined }
}

const openKey = '31 world anyone'

function keyOf(acl: readonly Acl[]): string {
  if (acl.length === 1) {
    const { perms, id } = acl[0]!
    if (perms === permissions.all && id.scheme === 'world' && id.id === 'anyone') return openKey
  }
  return JSON.stringify(acl.map(({ perms, id }) => [perms, id.scheme, id.id]))
}
