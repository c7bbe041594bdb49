/** A znode, as the API describes it. */
export interface Node {
  readonly path: string
  readonly name: string
  readonly kind: 'persistent' | 'ephemeral' | 'container' | 'ttl'
  readonly czxid: string
  readonly mzxid: string
  readonly pzxid: string
  readonly ctime: string
  readonly mtime: string
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: string | null
  readonly ttlMs: number | null
  readonly dataLength: number
  readonly numChildren: number
  /** Only its name is known: the ACL does not let it be read. */
  readonly isHidden?: true
}
