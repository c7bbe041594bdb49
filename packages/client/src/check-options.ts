import { checkAcl, checkOneOf, checkTimeout, shown } from './calls/arguments.ts'
import { callNames, checkOptionNames } from './calls/option-names.ts'
import type { CallOptions, ClientOptions } from './options.ts'

const names: Readonly<Record<keyof ClientOptions, true>> = {
  servers: true,
  sessionTimeoutMs: true,
  session: true,
  readOnly: true,
  auth: true,
  tls: true,
  sasl: true,
  keepAlive: true,
  callTimeoutMs: true,
  connectTimeoutMs: true,
  logger: true,
  slowRequestMs: true,
  callerStacks: true,
  retry: true,
  acl: true,
  requestBytesMax: true,
  onExpiry: true,
  unref: true,
  answerPollMicros: true,
  host: true,
}

/** The options of `connect`, which takes the servers as an argument. */
export function checkConnectOptions(options: Omit<ClientOptions, 'servers'> & CallOptions): void {
  checkOptionNames('a client', options, { ...names, ...callNames })
}

/** Throws if options do not match their types, for untyped programs. */
export function checkOptions(options: ClientOptions): void {
  checkOptionNames('a client', options, names)
  const { sessionTimeoutMs, auth, session, logger, retry, sasl } = options
  if (retry !== undefined) checkOptionNames('retry', retry, { repeatsMax: true })
  if (sasl !== undefined) checkOptionNames('sasl', sasl, { username: true, password: true })
  for (const identity of isListOfIdentities(auth) ? auth : [])
    checkOptionNames('an identity', identity, { scheme: true, credentials: true })
  const isTimeout = typeof sessionTimeoutMs === 'number' && sessionTimeoutMs > 0
  if (sessionTimeoutMs !== undefined && !isTimeout)
    throw new RangeError(
      `sessionTimeoutMs is a number of milliseconds, not ${shown(sessionTimeoutMs)}`,
    )
  checkTimeout(options.callTimeoutMs, 'callTimeoutMs')
  checkTimeout(options.connectTimeoutMs, 'connectTimeoutMs')
  checkTimeout(options.slowRequestMs, 'slowRequestMs')
  checkAmount(options.requestBytesMax, 'requestBytesMax')
  checkAmount(options.answerPollMicros, 'answerPollMicros')
  checkAmount(retry?.repeatsMax, 'retry.repeatsMax')
  if (options.acl !== undefined) checkAcl(options.acl)
  if (logger !== undefined && typeof (logger as { warn?: unknown } | null)?.warn !== 'function')
    throw new TypeError(`logger is an object with a method warn, not ${shown(logger)}`)
  checkOneOf('keepAlive', options.keepAlive, [undefined, 'loop', 'worker'])
  checkOneOf('onExpiry', options.onExpiry, [undefined, 'renew', 'end'])
  if (auth !== undefined && !isListOfIdentities(auth))
    throw new TypeError('auth is a list of { scheme, credentials }')
  if (session !== undefined && typeof session.id !== 'bigint')
    throw new TypeError(`the id of a session is a bigint, not ${shown(session.id)}`)
}

function checkAmount(amount: number | undefined, name: string): void {
  if (amount === undefined || (typeof amount === 'number' && amount >= 0)) return
  throw new RangeError(`${name} is a number from 0 on, not ${shown(amount)}`)
}

function isListOfIdentities(auth: unknown): auth is readonly object[] {
  if (!Array.isArray(auth)) return false
  return auth.every((one: unknown) => {
    if (typeof one !== 'object' || one === null) return false
    return typeof Reflect.get(one, 'scheme') === 'string' && 'credentials' in one
  })
}
