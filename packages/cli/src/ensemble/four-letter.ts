import { connect as connectTcp, type Socket } from 'node:net'
import type { TlsOptions } from '@zabra/client'
import { tlsAdvice } from '../connection/tls-advice.ts'
import { elsewhere } from '../framework/describe-error.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { addressText, type Address } from './address.ts'
import { networkReason } from './network-reason.ts'

export interface AskOptions {
  readonly timeoutMs: number
  readonly tls?: TlsOptions | undefined
  readonly signal?: AbortSignal | undefined
}

/** A server answered that a word is not on its whitelist. */
export class NotListedError extends CommandError {
  override readonly name = 'NotListedError'

  constructor(word: string, address: Address) {
    super(`${addressText(address)} does not answer ${word}`, {
      code: 'notListed',
      exitCode: exitCodes.notAllowed,
      hint: `add ${word} to 4lw.commands.whitelist in its zoo.cfg`,
    })
  }
}

/** Sends a four-letter word to a client port, and resolves with the whole answer. */
export async function askWord(
  address: Address,
  word: string,
  { timeoutMs, tls, signal }: AskOptions,
): Promise<string> {
  signal?.throwIfAborted()
  const socket = await open(address, tls)
  const chunks: Buffer[] = []
  const abort = (): void => void socket.destroy(signal!.reason as Error)
  try {
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)))
      signal?.addEventListener('abort', abort, { once: true })
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('end', () => resolve())
      socket.on('close', () => resolve())
      socket.on('error', reject)
      // A TLS socket connects before its handshake is done, and holds back what is written.
      socket.once('connect', () => socket.write(word))
    })
  } catch (error) {
    signal?.throwIfAborted()
    // Some servers reset the connection behind their answer.
    if (chunks.length === 0) throw unreachable(address, error)
  } finally {
    signal?.removeEventListener('abort', abort)
    socket.destroy()
  }
  const answer = Buffer.concat(chunks).toString()
  if (answer === '')
    throw new CommandError(`${addressText(address)}: it closed the connection on ${word}`, {
      code: 'unreachable',
      exitCode: exitCodes.unavailable,
      hint: 'it does not know this word, or the port is not a client port, or it needs TLS (--tls)',
    })
  if (answer.includes('is not executed because it is not in the whitelist'))
    throw new NotListedError(word, address)
  return answer
}

async function open({ host, port }: Address, tls: TlsOptions | undefined): Promise<Socket> {
  if (tls === undefined) return connectTcp(port, host)
  const { connect } = await import('node:tls')
  return connect({ ...tls, host, port })
}

function unreachable(address: Address, error: unknown): CommandError {
  return new CommandError(`${addressText(address)}: ${networkReason(error)}`, {
    code: 'unreachable',
    exitCode: exitCodes.unavailable,
    hint: tlsAdvice(error) ?? elsewhere,
    cause: error,
  })
}
