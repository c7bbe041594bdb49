import { readFileSync } from 'node:fs'
import { UsageError } from '../framework/errors.ts'
import { contextNamed } from './context-named.ts'
import { readContexts } from './contexts.ts'
import { parseTarget, type Target, type TlsFiles } from './target.ts'

/** An identity, as `addauth` takes it. */
export interface IdentityText {
  readonly scheme: string
  readonly credentials: string
}

/** Everything needed to connect. */
export interface ConnectionSettings {
  /** `host:port,host:port/chroot`, as a client takes it. */
  readonly servers: string
  readonly auth: readonly IdentityText[]
  readonly tls: TlsFiles | undefined
  /** For the connection, and for each answer. */
  readonly timeoutMs: number
  readonly sessionTimeoutMs: number
  readonly readOnly: boolean
  /** Where the servers were named: `--servers`, `ZABRA_SERVERS`, `context prod`, `default`. */
  readonly origin: string
}

export const defaultServers = '127.0.0.1:2181'
const defaultTimeoutMs = 5000
const defaultSessionTimeoutMs = 30_000

type Env = Readonly<Record<string, string | undefined>>

/** The values of `connectionOptions`. */
export interface ConnectionValues {
  readonly servers?: string
  readonly context?: string
  readonly auth?: readonly string[]
  readonly timeout?: number
  readonly sessionTimeout?: number
  readonly readOnly?: true
  readonly tls?: true
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly tlsServerName?: string
  readonly tlsInsecure?: true
}

/**
 * Options go before the environment, and the environment before the current context:
 * `--servers`, `--context`, `ZABRA_SERVERS`, `ZABRA_CONTEXT`, `zabra context use`, 127.0.0.1:2181.
 */
export function connectionSettings(values: ConnectionValues, env: Env): ConnectionSettings {
  if (values.timeout === 0) throw new UsageError('--timeout is longer than 0', 'for example 5s')
  const { target, origin } = chooseTarget(values, env)
  const identities = [...(values.auth ?? []), ...fromEnv(env['ZABRA_AUTH'])]
  return {
    servers: target.servers,
    auth: [...target.auth, ...identities.flatMap(parseIdentities)],
    tls: tlsOf(values, env, target.tls),
    timeoutMs: values.timeout ?? target.timeoutMs ?? defaultTimeoutMs,
    sessionTimeoutMs: values.sessionTimeout ?? target.sessionTimeoutMs ?? defaultSessionTimeoutMs,
    readOnly: values.readOnly ?? target.readOnly ?? false,
    origin,
  }
}

function chooseTarget(values: ConnectionValues, env: Env): { target: Target; origin: string } {
  if (values.servers !== undefined && values.context !== undefined)
    throw new UsageError('--servers or --context, not both')
  if (values.servers !== undefined)
    return { target: parseTarget(values.servers), origin: '--servers' }
  if (values.context !== undefined) return fromContext(values.context, env)
  const [servers] = fromEnv(env['ZABRA_SERVERS'])
  if (servers !== undefined) return { target: parseTarget(servers), origin: 'ZABRA_SERVERS' }
  const [named] = fromEnv(env['ZABRA_CONTEXT'])
  const name = named ?? readContexts(env).current
  if (name !== undefined) return fromContext(name, env)
  return { target: { servers: defaultServers, auth: [] }, origin: 'default' }
}

function fromContext(name: string, env: Env): { target: Target; origin: string } {
  const context = contextNamed(readContexts(env), name)
  const own = parseTarget(context.servers)
  const { auth = [], tls, ...rest } = context
  return {
    target: {
      ...own,
      ...rest,
      servers: own.servers,
      auth: [...own.auth, ...auth.flatMap(parseIdentities)],
      tls: tls ?? own.tls,
    },
    origin: `context ${name}`,
  }
}

/** `digest:user:password`, or `@FILE` with one on each line. */
export function parseIdentities(text: string): readonly IdentityText[] {
  if (text.startsWith('@')) {
    const lines = readFileSync(text.slice(1), 'utf8').split('\n')
    return lines
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(parseIdentity)
  }
  return [parseIdentity(text)]
}

function parseIdentity(text: string): IdentityText {
  const colon = text.indexOf(':')
  if (colon <= 0)
    throw new UsageError(
      `an identity is SCHEME:CREDENTIALS, not '${hidden(text)}'`,
      'for example digest:ann:secret',
    )
  return { scheme: text.slice(0, colon), credentials: text.slice(colon + 1) }
}

/** Messages end up in logs; what follows the first letters may be a password. */
function hidden(text: string): string {
  return `${text.slice(0, 2)}...`
}

function fromEnv(value: string | undefined): readonly string[] {
  return value === undefined || value === '' ? [] : [value]
}

function tlsOf(
  values: ConnectionValues,
  env: Env,
  own: TlsFiles | undefined,
): TlsFiles | undefined {
  const isAsked =
    values.tls === true ||
    values.tlsInsecure === true ||
    [values.tlsCa, values.tlsCert, values.tlsKey, values.tlsServerName].some(
      (value) => value !== undefined,
    )
  if (!isAsked && own === undefined) return undefined
  const cert = values.tlsCert ?? own?.cert ?? env['ZABRA_TLS_CERT']
  const key = values.tlsKey ?? own?.key ?? env['ZABRA_TLS_KEY']
  if (cert === undefined && key !== undefined)
    throw new UsageError('a key needs its certificate', 'give --tls-cert')
  return {
    ca: values.tlsCa ?? own?.ca ?? env['ZABRA_TLS_CA'],
    cert,
    // `zabra tls init` writes both into one file.
    key: key ?? cert,
    serverName: values.tlsServerName ?? own?.serverName,
    insecure: values.tlsInsecure ?? own?.insecure,
  }
}
