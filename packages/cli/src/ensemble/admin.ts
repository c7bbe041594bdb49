import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes, type ExitCode } from '../framework/exit-codes.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import { tlsOptions } from '../connection/connect.ts'
import { addressesOf, addressText, type Address } from './address.ts'
import { askOptions } from './ask-options.ts'
import { askWord, type AskOptions } from './four-letter.ts'
import { networkReason } from './network-reason.ts'
import { parseStatus } from './server-status.ts'

export interface AdminRequest {
  /** `http://host:8080`. */
  readonly base: string
  readonly command: string
  readonly method?: 'GET' | 'POST'
  readonly settings: ConnectionSettings
  readonly signal: AbortSignal
}

/** Asks a command of the admin port, with the first digest identity of the connection settings. */
export async function askAdmin(asked: AdminRequest): Promise<Record<string, unknown>> {
  const { base, command, method = 'GET', settings, signal } = asked
  const url = adminUrl(base, `/commands/${command}`)
  const response = await send(url, { method, signal }, settings)
  const status = response.statusCode ?? 0
  let answer: Record<string, unknown>
  try {
    answer = JSON.parse(await textOf(response)) as Record<string, unknown>
  } catch {
    throw new CommandError(`${url.href} does not answer in JSON (status ${status})`, {
      code: 'badAnswer',
    })
  }
  const error = answer['error']
  if (status >= 400 || (typeof error === 'string' && error !== ''))
    throw refused(
      `${command}: ${typeof error === 'string' ? error : `status ${status}`}`,
      'refused',
      status,
    )
  return answer
}

export interface ApiRequest extends Omit<AdminRequest, 'command'> {
  readonly path: string
  /** Sent as JSON. */
  readonly body?: object
}

/** Asks the HTTP API for JSON. */
export async function askApi<T>(asked: ApiRequest): Promise<T> {
  return JSON.parse(await textOf(await openAdmin(asked))) as T
}

/** The admin ports of the servers of the connection string, unless they are named. */
export async function adminBases(
  settings: ConnectionSettings,
  named: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  if (named !== undefined && named.length > 0) return [...named]
  const options = await askOptions(settings, signal)
  return Promise.all(addressesOf(settings.servers).map((server) => adminBase(server, options)))
}

/**
 * The admin port as the server itself names it in `conf`; the usual port if it does not. Fails for a
 * server of Apache, whose admin port has nothing of what commands ask.
 */
export async function adminBase(server: Address, options: AskOptions): Promise<string> {
  const conf = await askWord(server, 'conf', options).catch(() => '')
  options.signal?.throwIfAborted()
  const named = /^adminAddress=(.+)$/m.exec(conf)?.[1]
  const url = named === undefined || !URL.canParse(named) ? undefined : new URL(named)
  const host = server.host.includes(':') ? `[${server.host}]` : server.host
  if (url === undefined) {
    const apache = await apacheVersion(server, options)
    if (apache === undefined) return `http://${host}:8080`
    throw new CommandError(`${addressText(server)} is Apache ZooKeeper ${apache}`, {
      code: 'notZabra',
      hint: 'this needs a server of zabra; `zabra log` and `zabra snapshot` read the files of both',
    })
  }
  // On the loopback interface of another machine nothing can be reached; the error says so.
  if (isAnyOrLoopback(url.hostname)) url.hostname = host
  return url.origin
}

/** Undefined for zabra, and where the server does not tell. */
async function apacheVersion(server: Address, options: AskOptions): Promise<string | undefined> {
  const answer = await askWord(server, 'srvr', options).catch(() => '')
  const status = parseStatus(answer, undefined)
  return status?.zabraVersion === undefined ? status?.version : undefined
}

function isAnyOrLoopback(host: string): boolean {
  return host === '0.0.0.0' || host === '[::]' || host === '[::1]' || host.startsWith('127.')
}

/** Opens a stream of the HTTP API; an error has the code that the server gave it. */
export async function openAdmin({
  base,
  path,
  method = 'GET',
  body,
  settings,
  signal,
}: ApiRequest): Promise<IncomingMessage> {
  const url = adminUrl(base, path)
  const response = await send(url, { method, signal }, settings, body)
  const status = response.statusCode ?? 0
  if (status < 400) return response
  const text = await textOf(response)
  let error: { readonly code?: string; readonly message?: string } = {}
  try {
    error = (JSON.parse(text) as { error?: typeof error }).error ?? {}
  } catch {
    // A server without the API, or something else on this port.
  }
  const { code = 'refused', message = `status ${status}` } = error
  const isMissing = status === 404 && (code === 'refused' || code === 'noRoute')
  throw refused(isMissing ? `${url.origin} has no such API` : message, code, status)
}

function adminUrl(base: string, path: string): URL {
  if (!URL.canParse(path, base) || !/^https?:/.test(base))
    throw new UsageError(`'${base}' is no URL`, 'for example http://10.0.0.1:8080')
  return new URL(path, base)
}

const byStatus: ReadonlyMap<number, ExitCode> = new Map<number, ExitCode>([
  [404, exitCodes.notFound],
  [409, exitCodes.conflict],
  [410, exitCodes.notFound],
  [503, exitCodes.unavailable],
])

function refused(message: string, code: string, status: number): CommandError {
  const isForbidden = status === 401 || status === 403
  return new CommandError(message, {
    code,
    exitCode: isForbidden ? exitCodes.notAllowed : (byStatus.get(status) ?? exitCodes.failed),
    ...(isForbidden ? { hint: 'present an identity that may: --auth digest:USER:PASSWORD' } : {}),
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** How long a server may be silent: it may have to take a snapshot first. */
const silenceMsMax = 600_000

async function send(
  url: URL,
  given: Pick<RequestOptions, 'method' | 'signal'>,
  settings: ConnectionSettings,
  body?: object,
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:'
  const request = isTls ? (await import('node:https')).request : httpRequest
  const tls = isTls && settings.tls !== undefined ? await tlsOptions(settings.tls) : {}
  const digest = settings.auth.find(({ scheme }) => scheme === 'digest')
  const options = {
    ...given,
    ...tls,
    headers: {
      ...(digest === undefined ? {} : { authorization: `digest ${digest.credentials}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    timeout: silenceMsMax,
  } as RequestOptions
  return new Promise((resolve, reject) => {
    const call = request(url, options, resolve)
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', (cause: Error) =>
      reject(
        new CommandError(`${url.origin}: ${networkReason(cause)}`, {
          code: 'unreachable',
          exitCode: exitCodes.unavailable,
          hint: 'an admin port listens on the loopback interface unless admin.serverAddress is set; --admin http://HOST:PORT names another',
          cause,
        }),
      ),
    )
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
