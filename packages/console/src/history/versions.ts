/** The versions of a znode: its states after each change of it. */
import { get, type Query } from '../api.ts'
import { onePerTransaction, type ChangePage, type PastChange } from './change.ts'

const kinds = 'create,set,delete,acl,reconfig'
const pageSize = 100
/** A page can be empty while the server searches. */
const emptyPagesMax = 50

export interface Versions {
  /** The newest first; one for each transaction. */
  readonly list: readonly PastChange[]
  readonly next: string | null
}

/** The versions before those that are known, or the newest. */
export async function loadVersions(path: string, known?: Versions): Promise<Versions> {
  let list = known?.list ?? []
  let next: string | null | undefined = known?.next
  for (let i = 0; i < emptyPagesMax && next !== null; i++) {
    const query: Query = { path, exact: true, kinds, limit: pageSize, next }
    const page: ChangePage = await get('/history/changes', query)
    next = page.next
    list = onePerTransaction([...list, ...page.changes])
    if (page.changes.length > 0) break
  }
  return { list, next: next ?? null }
}
