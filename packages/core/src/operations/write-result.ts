import { statBytes, type Txn, type Writer } from '@zabra/protocol'
import type { PreparedTxn } from './preparation.ts'
import { noNode, type NodeId, type Tree } from '../state/tree/tree.ts'

const statDataLengthAt = 52

/** The response of a write that succeeded, read off the tree right after it. */
export function writeResult(tree: Tree, txn: Txn, out: Writer): void {
  switch (txn.type) {
    case 1:
      writePath(txn, out)
      return
    case 15:
    case 19:
    case 21:
      writePath(txn, out)
      tree.writeStat(madeBy(txn, tree), out)
      // What was asked for, even where the server put something else: a quota's usage.
      out.intAt(out.position - statBytes + statDataLengthAt, txn.body.data?.length ?? 0)
      return
    case 5:
    case 7:
      tree.writeStat(tree.find(txn.body.path), out)
      return
    case 16:
      out.buffer(txn.body.data)
      tree.writeStat(tree.find(txn.body.path), out)
      return
    default:
  }
}

type WithPath = Extract<PreparedTxn, { body: { path: string } }>

/** As soon as it is applied. */
function madeBy({ body, scanned }: WithPath, tree: Tree): NodeId {
  return scanned === undefined || scanned.made === noNode ? tree.find(body.path) : scanned.made
}

function writePath({ body, scanned }: WithPath, out: Writer): void {
  if (scanned === undefined) {
    out.ustring(body.path)
    return
  }
  const { view, start, end } = scanned
  out.int(end - start)
  out.rawView(view, start, end)
}
