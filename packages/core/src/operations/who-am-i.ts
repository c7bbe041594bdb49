import { errorCodes } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

export const whoAmI: ReadOperation = {
  answer(_db, from, _request, out) {
    out.int(from.identities.length)
    for (const { scheme, id } of from.identities) {
      out.nullableText(scheme)
      out.nullableText(scheme === 'digest' ? (id?.split(':')[0] ?? '') : id)
    }
    return errorCodes.ok
  },
}
