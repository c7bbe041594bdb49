import { checkOneOf, checkTimeout, shown } from './calls/arguments.ts'
import type { ClientOptions } from './options.ts'

/** Throws where options are not what their types say: programs without types learn of it here. */
export function checkOptions(options: ClientOptions): void {
  const { sessionTimeoutMs, auth, session } = options
  if (sessionTimeoutMs !== undefined && !(sessionTimeoutMs > 0))
    throw new RangeError(
      `sessionTimeoutMs is a number of milliseconds, not ${shown(sessionTimeoutMs)}`,
    )
  checkTimeout(options.callTimeoutMs)
  checkOneOf('keepAlive', options.keepAlive, [undefined, 'loop', 'worker'])
  checkOneOf('onExpiry', options.onExpiry, [undefined, 'renew', 'end'])
  if (auth !== undefined && !isListOfIdentities(auth))
    throw new TypeError('auth is a list of { scheme, credentials }')
  if (session !== undefined && typeof session.id !== 'bigint')
    throw new TypeError(`the id of a session is a bigint, not ${shown(session.id)}`)
}

function isListOfIdentities(auth: unknown): boolean {
  if (!Array.isArray(auth)) return false
  return auth.every((one: unknown) => {
    if (typeof one !== 'object' || one === null) return false
    return typeof Reflect.get(one, 'scheme') === 'string' && 'credentials' in one
  })
}
