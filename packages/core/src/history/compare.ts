/** The differences between the trees at two points in the past. */
import { codes, readTxnBody, TxnHeader, type Acl, type Reader } from '@zabra/protocol'
import type { LogRecords } from '../storage/log/log-reader.ts'
import { changesOf } from './change.ts'
import { HistoryError } from './error.ts'
import type { PastNode, PastTree, PastTreeLoader } from './past-tree.ts'
import type { Selection } from './selection.ts'

export interface Difference {
  readonly path: string
  /** Undefined if the znode did not exist. */
  readonly before: PastNode | undefined
  readonly after: PastNode | undefined
  /** Set if the znode existed at both points. */
  readonly isDataChanged: boolean
  readonly isAclChanged: boolean
  /** The znode was deleted and created again in between. */
  readonly isRecreated: boolean
}

/**
 * Replays transactions from the first point, where the loader is, and first saves the state of each
 * znode that is about to change.
 */
export async function compareFrom(
  loader: PastTreeLoader,
  selection: Selection,
  differencesMax: number,
  forward: (visit: (records: LogRecords) => void) => Promise<void>,
): Promise<Difference[]> {
  const { tree } = loader
  const before = new Map<string, PastNode | undefined>()
  await forward(({ reader }) => {
    for (const path of pathsIn(reader, tree)) {
      if (!selection.has(path) || before.has(path)) continue
      if (before.size >= differencesMax) {
        throw new HistoryError(
          'missing',
          `more than ${differencesMax} znodes changed between the two points`,
        )
      }
      before.set(path, copyOf(tree.node(path)))
    }
    loader.apply(reader)
  })
  const found: Difference[] = []
  for (const [path, was] of before) {
    const difference = differenceOf(path, was, tree.node(path))
    if (difference !== undefined) found.push(difference)
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}

/** The paths that a transaction changes. The reader's position stays the same. */
function pathsIn(reader: Reader, { db }: PastTree): string[] {
  const { position } = reader
  const header = TxnHeader.read(reader)
  const paths: string[] = []
  if (header.type !== codes.check) {
    const txn = readTxnBody(reader, header.type)
    for (const { path } of changesOf(header, txn)) if (path !== undefined) paths.push(path)
    // The list may be missing, or be shorter than what the session owned at its end.
    if (txn.type === codes.closeSession)
      for (const id of db.tree.ephemeralsOf(header.clientId)) paths.push(db.tree.pathOf(id))
  }
  reader.position = position
  return paths
}

function differenceOf(
  path: string,
  before: PastNode | undefined,
  after: PastNode | undefined,
): Difference | undefined {
  const isBoth = before !== undefined && after !== undefined
  if (before === undefined && after === undefined) return undefined
  const isDataChanged = isBoth && !isSameData(before.data, after.data)
  const isAclChanged = isBoth && !isSameAcl(before.acl, after.acl)
  const isRecreated = isBoth && before.stat.czxid !== after.stat.czxid
  if (isBoth && !isDataChanged && !isAclChanged && !isRecreated) return undefined
  return { path, before, after: copyOf(after), isDataChanged, isAclChanged, isRecreated }
}

function copyOf(node: PastNode | undefined): PastNode | undefined {
  return node && { ...node, data: node.data?.slice() ?? null }
}

function isSameData(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

function isSameAcl(a: readonly Acl[], b: readonly Acl[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ perms, id }, at) => {
      const other = b[at]!
      return perms === other.perms && id.scheme === other.id.scheme && id.id === other.id.id
    })
  )
}
