import { request as httpRequest, type RequestOptions } from 'node:http'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import { tlsOptions } from '../connection/connect.ts'

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
  const url = new URL(`/commands/${command}`, base)
  const digest = settings.auth.find(({ scheme }) => scheme === 'digest')
  const options: RequestOptions = {
    method,
    signal,
    headers: digest === undefined ? {} : { authorization: `digest ${digest.credentials}` },
    timeout: Math.max(settings.timeoutMs, 30_000),
  }
  const { status, body } = await send(url, options, settings)
  let answer: Record<string, unknown>
  try {
    answer = JSON.parse(body) as Record<string, unknown>
  } catch {
    throw new CommandError(`${url.href} does not answer in JSON (status ${status})`, {
      code: 'badAnswer',
    })
  }
  const error = answer['error']
  if (status >= 400 || (typeof error === 'string' && error !== ''))
    throw new CommandError(
      `${command}: ${typeof error === 'string' ? error : `status ${status}`}`,
      {
        code: 'refused',
        exitCode: status === 401 || status === 403 ? exitCodes.notAllowed : exitCodes.failed,
        ...(status === 401 || status === 403
          ? { hint: 'present an identity that may: --auth digest:USER:PASSWORD' }
          : {}),
      },
    )
  return answer
}

async function send(
  url: URL,
  options: RequestOptions,
  settings: ConnectionSettings,
): Promise<{ status: number; body: string }> {
  const isTls = url.protocol === 'https:'
  const request = isTls ? (await import('node:https')).request : httpRequest
  const tls = isTls && settings.tls !== undefined ? await tlsOptions(settings.tls) : {}
  return new Promise((resolve, reject) => {
    const call = request(url, { ...options, ...tls } as RequestOptions, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      )
    })
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', (cause: Error & { code?: string }) =>
      reject(
        new CommandError(`${url.origin}: ${cause.code ?? cause.message}`, {
          code: 'unreachable',
          exitCode: exitCodes.unavailable,
          hint: 'name the admin port with --admin http://HOST:PORT',
          cause,
        }),
      ),
    )
    call.end()
  })
}
