import { errorCodes, type Id } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

export const whoAmI: ReadOperation = {
  answer({ options }, from, _request, out) {
    out.int(from.identities.length)
    for (const identity of from.identities) {
      out.nullableText(identity.scheme)
      out.nullableText(userName(identity, options.acl.schemes))
    }
    return errorCodes.ok
  },
}

/** A scheme without a provider, such as `super`, has no user names. */
function userName({ scheme, id }: Id, schemes: ReadonlySet<string>): string | null {
  if (!schemes.has(scheme ?? '')) return ''
  return scheme === 'digest' ? (id?.split(':')[0] ?? '') : id
}
