import { errorCodes, SyncRequest } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

/** Only returns the path: on the server that decides, everything before it is already applied. */
export const sync: ReadOperation = {
  answer(_db, _from, request, out) {
    out.nullableText(SyncRequest.read(request).path)
    return errorCodes.ok
  },
}
