/** A server's state and everything that may happen to it, for tests that compare it with what files give back. */
import {
  codes,
  encodeText,
  parentOf,
  readTxnBody,
  Reader,
  Writer,
  writeTxnBody,
  type Acl,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import fc from 'fast-check'
import { ByteKeeper } from '../../src/base/byte-keeper.ts'
import { prepareWrite } from '../../src/operations/index.ts'
import { Database } from '../../src/state/database.ts'
import { Projection } from '../../src/state/projection/projection.ts'
import { noNode } from '../../src/state/tree/tree.ts'

export const worldOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 7,
  acl: { skipAcl: false, schemes: new Set<string>() },
}
export const open: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const lists: Acl[][] = [
  open,
  [...open, { perms: 31, id: { scheme: 'digest', id: 'a:1' } }],
  [{ perms: 1, id: { scheme: 'ip', id: '10.0.0.0/8' } }, ...open],
]

// --- what is done --------------------------------------------------------------------------------

const quota = '/zookeeper/quota/a'
const inQuota = [quota, `${quota}/zookeeper_limits`, `${quota}/zookeeper_stats`]
const anyPath = fc.constantFrom(
  ...inQuota,
  '/a',
  '/a/b',
  '/a/b/c',
  '/a/b/c/d',
  '/a/e',
  '/f',
  '/f/g',
)
const anyData = fc.option(fc.constantFrom('', 'x', 'more of it').map(encodeText))
const anyAcl = fc.constantFrom(...lists)
const anySession = fc.constantFrom(1n, 2n)

type Change =
  | { op: 'create'; path: string; data: Uint8Array | null; acl: Acl[]; kind: Kind }
  | { op: 'delete' | 'reclaim'; path: string }
  /** Deletes what is there, from the lowest node on, or makes what is missing, from the highest on. */
  | { op: 'toggle'; path: string; kind: Kind }
  | { op: 'setData'; path: string; data: Uint8Array | null }
  | { op: 'setAcl'; path: string; acl: Acl[] }
type Kind = 'plain' | 'sequential' | 'ephemeral' | 'container' | 'ttl'
export type Step =
  | { op: 'change'; session: bigint; change: Change }
  | { op: 'multi'; session: bigint; changes: Change[] }
  | { op: 'end' | 'begin'; session: bigint }
  /** The snapshot goes on by a piece. */
  | { op: 'write' }

const kinds: Kind[] = ['plain', 'plain', 'plain', 'sequential', 'ephemeral', 'container', 'ttl']
const anyToggle: fc.Arbitrary<Change> = fc.record({
  op: fc.constant('toggle' as const),
  path: anyPath,
  kind: fc.constantFrom(...kinds),
})
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 12, arbitrary: anyToggle },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('create' as const),
      path: anyPath,
      data: anyData,
      acl: anyAcl,
      kind: fc.constantFrom(...kinds),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constantFrom('delete', 'reclaim'), path: anyPath }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('setData' as const), path: anyPath, data: anyData }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('setAcl' as const), path: anyPath, acl: anyAcl }),
  },
)
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      op: fc.constant('change' as const),
      session: anySession,
      change: anyChange,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('multi' as const),
      session: anySession,
      changes: fc.array(anyChange, { minLength: 2, maxLength: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('end', 'begin'), session: anySession }) },
  { weight: 6, arbitrary: fc.constant({ op: 'write' as const }) },
)

// --- a server ------------------------------------------------------------------------------------

/** Decides and applies as a server on its own does, and keeps what it would have logged. */
export class World {
  readonly db = new Database(worldOptions)
  readonly log: { header: TxnHeader; txn: Txn }[] = []
  private readonly projection = new Projection(this.db)
  private readonly keeper = new ByteKeeper()
  private readonly closeSessionPaths: boolean

  constructor(closeSessionPaths = true) {
    this.closeSessionPaths = closeSessionPaths
    this.db.createSystemNodes()
  }

  do(step: Step): void {
    if (step.op === 'write') return
    const { session } = step
    if (!this.db.sessions.has(session) && step.op !== 'begin') return
    const zxid = this.db.lastZxid + 1n
    const time = 1000n + zxid
    const { type, request } = this.ask(step)
    const txn = prepareWrite(type, request, {
      db: this.db,
      projection: this.projection,
      rules: {
        enforceQuota: false,
        reconfigEnabled: false,
        closeSessionPaths: this.closeSessionPaths,
      },
      caller: { sessionId: session, identities: [{ scheme: 'ip', id: '10.0.0.1' }] },
      zxid,
      time,
      keeper: this.keeper,
    })
    if (txn.type === codes.error) return
    const staged = this.projection.countStaged()
    this.apply({ clientId: session, cxid: 1, zxid, time, type: txn.type }, txn)
    this.projection.retire(staged)
  }

  private apply(header: TxnHeader, txn: Txn): void {
    const writer = new Writer()
    writeTxnBody(writer, txn)
    const logged = readTxnBody(new Reader(writer.written()), txn.type)
    this.log.push({ header, txn: logged })
    this.db.apply(header, logged)
  }

  private ask(step: Exclude<Step, { op: 'write' }>): Request {
    switch (step.op) {
      case 'begin':
        return { type: codes.createSession, request: { timeoutMs: 10_000 } }
      case 'end':
        return { type: codes.closeSession, request: { sessionId: step.session } }
      case 'change':
        return requestOf(step.change, this.db)
      case 'multi': {
        const parts = step.changes.map((change) => requestOf(change, this.db))
        const isPart = ({ type }: Request): boolean =>
          type !== codes.setACL && type !== codes.deleteContainer
        return { type: codes.multi, request: parts.filter(isPart) }
      }
    }
  }
}

/** Decoded, as operations prepare it. */
interface Request {
  readonly type: number
  readonly request: unknown
}

function toggled({ tree }: Database, path: string, kind: Kind): Change {
  const id = tree.find(path)
  if (id !== noNode) return { op: 'delete', path: tree.pathOf(tree.firstLeafBelow(id)) }
  let missing = path
  for (let above = parentOf(path); tree.find(above) === noNode; above = parentOf(above)) {
    missing = above
  }
  return {
    op: 'create',
    path: missing,
    data: null,
    acl: open,
    kind: missing === path ? kind : 'plain',
  }
}

function requestOf(change: Change, db: Database): Request {
  const version = -1
  switch (change.op) {
    case 'toggle':
      return requestOf(toggled(db, change.path, change.kind), db)
    case 'create': {
      const { path, data, acl, kind } = change
      const flags = { plain: 0, ephemeral: 1, sequential: 2, container: 4, ttl: 5 }[kind]
      const isTtl = kind === 'ttl'
      const request = { path, data, acl, flags, ttl: isTtl ? 5n : -1n }
      const { create, createContainer, createTTL } = codes
      return { type: kind === 'container' ? createContainer : isTtl ? createTTL : create, request }
    }
    case 'delete':
      return { type: codes.delete, request: { path: change.path, version } }
    case 'reclaim':
      return { type: codes.deleteContainer, request: { path: change.path, neverUsedMsMax: 1 } }
    case 'setData':
      return { type: codes.setData, request: { ...change, version } }
    case 'setAcl':
      return { type: codes.setACL, request: { ...change, version } }
  }
}
