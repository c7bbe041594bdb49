import { permissions, type Acl } from '@zabra/protocol'
import type { Grants } from './grants.ts'

/** An access control list, shared by all znodes that have the same list. */
export interface AclEntry {
  readonly id: number
  readonly acl: readonly Acl[]
  /** The permissions of everybody; this answers nearly every check. */
  readonly worldPerms: number
  readonly key: string
  uses: number
  /** An index of a long list, made when the list is first checked. */
  grants: Grants | undefined
}

const openAcl: readonly Acl[] = [{ perms: permissions.all, id: { scheme: 'world', id: 'anyone' } }]

/** Replaces a list that a damaged snapshot does not contain: only the super user gets access. */
const lostAcl: readonly Acl[] = [{ perms: 0, id: { scheme: 'world', id: 'anyone' } }]

/** Stores each distinct list once, under a number. The numbers are local to this server. */
export class AclTable {
  /** The list of the nodes that every server starts with; not part of the table. */
  readonly open: AclEntry = makeEntry(-1, openAcl)
  private readonly lost: AclEntry = makeEntry(-2, lostAcl)
  private readonly byId = new Map<number, AclEntry>()
  private readonly byKey = new Map<string, AclEntry>()
  private nextId = 1
  /** The list that was looked up last, and its entry: most requests bring the same list again. */
  private lastList: readonly Acl[] | undefined
  private lastEntry: AclEntry | undefined

  get(id: number): AclEntry {
    return id === -1 ? this.open : (this.byId.get(id) ?? this.lost)
  }

  has(id: number): boolean {
    return id === -1 || this.byId.has(id)
  }

  /** The entry of a list, created if necessary. It counts as used only after `acquire`. */
  intern(acl: readonly Acl[]): AclEntry {
    return this.known(acl) ?? this.add(this.nextId, acl, keyOf(acl))
  }

  /** The entry that a list has or would have, without adding it to the table. */
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
    // A node of a fuzzy snapshot may refer to a list that is newer than the table in the snapshot.
    // No other list may get that number until replay corrects the node.
    else this.nextId = Math.max(this.nextId, id + 1)
  }

  release(id: number): void {
    const entry = this.byId.get(id)
    if (entry !== undefined && --entry.uses <= 0) this.drop(entry)
  }

  /** Adds a list from a snapshot. The nodes of the snapshot acquire it when they are loaded. */
  load(id: number, acl: readonly Acl[]): void {
    this.add(id, acl, keyOf(acl))
  }

  /** Removes the lists that no znode refers to. */
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
