/** A change by a transaction: one entry, or several for a multi and for the end of a session. */
import {
  codes,
  readTxnBody,
  TxnHeader,
  type Acl,
  type NodeKind,
  type Reader,
  type SimpleTxn,
  type Txn,
} from '@zabra/protocol'

export const changeKinds = [
  'create',
  'set',
  'delete',
  'acl',
  'reconfig',
  'openSession',
  'closeSession',
] as const
export type ChangeKind = (typeof changeKinds)[number]

/** Why a znode or a session ended without a request of a client. */
export type ChangeCause = 'sessionEnd' | 'reclaimed' | 'expired'

export interface Change {
  readonly zxid: bigint
  /** Milliseconds since 1970, by the clock of the leader. */
  readonly timeMs: number
  readonly session: bigint
  readonly kind: ChangeKind
  /** The position within its transaction, and the number of changes there. */
  readonly part: number
  readonly parts: number
  /** Undefined for changes of sessions. */
  readonly path: string | undefined
  /** The version of the data, or of the ACL, after the change. */
  readonly version: number | undefined
  /** The data after the change; a view that is valid until the next change is read. */
  readonly data: Uint8Array | null | undefined
  /** The length of the data; also set when the data is left out. */
  readonly dataLength: number | undefined
  readonly acl: readonly Acl[] | undefined
  /** Set for a created znode. */
  readonly nodeKind: NodeKind | undefined
  readonly ttlMs: number | undefined
  readonly cause: ChangeCause | undefined
  /** Set for an opened session. */
  readonly timeoutMs: number | undefined
}

type Detail = Pick<Change, 'kind' | 'path'> & Partial<Change>

const noDetails = {
  version: undefined,
  data: undefined,
  dataLength: undefined,
  acl: undefined,
  nodeKind: undefined,
  ttlMs: undefined,
  cause: undefined,
  timeoutMs: undefined,
}

/** The changes of a logged transaction; none if it records a refusal. */
export function readChanges(reader: Reader): Change[] {
  const header = TxnHeader.read(reader)
  // Some releases log a check outside a multi and then cannot read it.
  if (header.type === codes.check) return []
  return changesOf(header, readTxnBody(reader, header.type))
}

export function changesOf(header: TxnHeader, txn: Txn): Change[] {
  const details: Detail[] = []
  if (txn.type === codes.multi) {
    const { txns } = txn.body
    if (txns.some(({ type }) => type === codes.error)) return []
    for (const part of txns) addDetails(details, part, header)
  } else addDetails(details, txn, header)
  const common = {
    zxid: header.zxid,
    timeMs: Number(header.time),
    session: header.clientId,
    parts: details.length,
  }
  return details.map((detail, part) => ({
    ...noDetails,
    ...common,
    part,
    dataLength: detail.data === undefined ? undefined : (detail.data?.length ?? 0),
    ...detail,
  }))
}

function addDetails(details: Detail[], txn: SimpleTxn, { cxid }: TxnHeader): void {
  switch (txn.type) {
    case codes.create:
    case codes.create2: {
      const { path, data, acl, ephemeral } = txn.body
      const nodeKind = ephemeral ? 'ephemeral' : 'persistent'
      details.push({ kind: 'create', path, data, acl: acl ?? [], nodeKind, version: 0 })
      return
    }
    case codes.createContainer: {
      const { path, data, acl } = txn.body
      details.push({
        kind: 'create',
        path,
        data,
        acl: acl ?? [],
        nodeKind: 'container',
        version: 0,
      })
      return
    }
    case codes.createTTL: {
      const { path, data, acl, ttl } = txn.body
      const made = { path, data, acl: acl ?? [], nodeKind: 'ttl', ttlMs: Number(ttl) } as const
      details.push({ kind: 'create', ...made, version: 0 })
      return
    }
    case codes.setData:
      details.push({ kind: 'set', ...txn.body })
      return
    case codes.reconfig:
      details.push({ kind: 'reconfig', ...txn.body })
      return
    case codes.setACL: {
      const { path, acl, version } = txn.body
      details.push({ kind: 'acl', path, acl: acl ?? [], version })
      return
    }
    case codes.delete:
      details.push({ kind: 'delete', path: txn.body.path })
      return
    case codes.deleteContainer:
      details.push({ kind: 'delete', path: txn.body.path, cause: 'reclaimed' })
      return
    case codes.createSession:
      details.push({ kind: 'openSession', path: undefined, timeoutMs: txn.body.timeOut })
      return
    case codes.closeSession:
      for (const path of txn.body.paths2Delete ?? [])
        details.push({ kind: 'delete', path, cause: 'sessionEnd' })
      // Clients number their requests from 1.
      details.push({
        kind: 'closeSession',
        path: undefined,
        ...(cxid === 0 ? { cause: 'expired' } : {}),
      })
      return
    default:
    // Refusals and checks change nothing.
  }
}
