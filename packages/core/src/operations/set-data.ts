import {
  codes,
  errorCodes,
  permissions,
  SetDataRequest,
  type TxnHeader,
  type TypeOf,
} from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { field } from '../state/tree/layout.ts'
import { writeTime, writeZxid } from '../state/tree/stat.ts'
import { noNode } from '../state/tree/tree.ts'
import type { WriteOperation } from './operation.ts'
import { isLegal, isVersionWrong, mayDo, type PreparedTxn } from './preparation.ts'

export const setData: WriteOperation<'setData', TypeOf<typeof SetDataRequest>> = {
  decode: (body) => SetDataRequest.read(body),

  prepare({ path, data, version }, p) {
    if (path === null || !isLegal(p.db.tree.scan(path))) return errorCodes.badArguments
    const node = p.projection.load(path)
    if (node === undefined) return errorCodes.noNode
    if (!mayDo(p, node.acl, permissions.write)) return errorCodes.noAuth
    if (p.rules.enforceQuota) {
      const difference = (data?.length ?? 0) - node.dataLength
      if (p.db.quotas.isExceeded(path, 0, difference)) return errorCodes.quotaExceeded
    }
    if (isVersionWrong(version, node.version)) return errorCodes.badVersion
    const newVersion = (node.version + 1) | 0
    node.view.setInt32(field.version, newVersion)
    writeZxid(node.view, field.mzxid, p.zxid)
    writeTime(node.view, field.mtime, p.time)
    p.projection.setData(node, data)
    p.projection.stage(node)
    const { contentChecksum } = node
    return { type: codes.setData, body: { path, data, version: newVersion }, contentChecksum }
  },

  apply: applySetData,

  result: (tree, { body }, out) => tree.writeStat(tree.find(body.path), out),
}

/** The transactions that set data: those of setData and of reconfig. */
type SetDataTransaction = Extract<
  PreparedTxn,
  { type: typeof codes.setData | typeof codes.reconfig }
>

export function applySetData(db: Database, header: TxnHeader, txn: SetDataTransaction): number {
  const { path, data, version } = txn.body
  const { contentChecksum } = txn
  const { zxid, time } = header
  const { tree } = db
  const id = tree.find(path)
  if (id === noNode) return errorCodes.noNode
  const grown = tree.setData(id, path, data, { zxid, time, version, contentChecksum })
  if (!db.isLoading && db.quotas.hasAny) db.quotas.dataChanged(path, grown)
  db.watches.dataChanged(path, zxid, db.aclOf(id))
  return errorCodes.ok
}
