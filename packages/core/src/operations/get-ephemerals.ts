import { errorCodes, GetEphemeralsRequest } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

/** The ephemeral nodes of the own session, below a prefix. */
export const getEphemerals: ReadOperation = {
  answer(db, from, request, out) {
    const { prefixPath } = GetEphemeralsRequest.read(request)
    const isAll = prefixPath === null || prefixPath.trim() === '' || prefixPath === '/'
    const paths = [...db.tree.ephemeralsOf(from.sessionId)]
      .map((id) => db.tree.pathOf(id))
      .filter((path) => isAll || path.startsWith(prefixPath))
    out.int(paths.length)
    for (const path of paths) out.ustring(path)
    return errorCodes.ok
  },
}
