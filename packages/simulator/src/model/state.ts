import type { Acl } from '@zabra/protocol'
import type { StatView } from '../client/request.ts'
import { Tree } from './tree.ts'

/** A znode of the model; immutable. */
export interface ModelNode {
  readonly data: string | null
  readonly acl: readonly Acl[]
  readonly czxid: bigint
  readonly mzxid: bigint
  readonly pzxid: bigint
  readonly ctime: bigint
  readonly mtime: bigint
  readonly version: number
  readonly aversion: number
  /** The number of children ever created: the source of sequence numbers. */
  readonly creates: number
  readonly children: number
  /** The session that owns an ephemeral. */
  readonly owner: bigint
  readonly isContainer: boolean
  readonly ttlMs: number | undefined
}

/** The initial tree. The nodes below /zookeeper are not modeled. */
export const emptyTree: Tree = new Tree().with('/', {
  data: '',
  acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
  czxid: 0n,
  mzxid: 0n,
  pzxid: 0n,
  ctime: 0n,
  mtime: 0n,
  version: 0,
  aversion: 0,
  creates: 0,
  children: 0,
  owner: 0n,
  isContainer: false,
  ttlMs: undefined,
})

export function statOf(node: ModelNode): StatView {
  return {
    czxid: node.czxid,
    mzxid: node.mzxid,
    ctime: node.ctime,
    mtime: node.mtime,
    version: node.version,
    cversion: 2 * node.creates - node.children,
    aversion: node.aversion,
    ephemeralOwner: node.owner,
    dataLength: node.data?.length ?? 0,
    numChildren: node.children,
    pzxid: node.pzxid,
  }
}
