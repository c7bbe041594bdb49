import { errorCodes, GetEphemeralsRequest } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

/** Returns the ephemeral nodes of the caller's session whose paths start with a prefix. */
export const getEphemerals: ReadOperation = {
  answer(db, from, request, out) {
    const { prefixPath } = GetEphemeralsRequest.read(request)
    const isAll = prefixPath === null || prefixPath.trim() === '' || prefixPath === '/'
    const countAt = out.position
    let count = 0
    out.int(0)
    for (const path of db.tree.ephemeralPaths(from.sessionId, isAll ? '' : prefixPath)) {
      out.ustring(path)
      count++
    }
    out.intAt(countAt, count)
    return errorCodes.ok
  },
}
