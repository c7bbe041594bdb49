import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { apachePasswords, type SessionPasswords } from '@zabra/core'
import type { ServerConfig } from '../config/config.ts'
import type { EventLogger } from '../base/event-logger.ts'
import { StartError } from '../base/start-error.ts'

const passwordBytes = 16
const secretLengthMin = 16
const othersMayRead = 0o044

/** How this server computes and checks session passwords, as configured. */
export function sessionPasswordsOf(
  { secretFile, kind }: ServerConfig['sessionPasswords'],
  logger: EventLogger,
): SessionPasswords {
  if (secretFile === undefined) {
    logger.info(
      'session: passwords can be computed from session ids; session.secretFile prevents it',
    )
    return apachePasswords
  }
  const ofSecret = secretPasswords(readSecret(secretFile, logger))
  if (kind === 'secret') return ofSecret
  const issued = kind === 'apache' ? apachePasswords : ofSecret
  return {
    of: (sessionId) => issued.of(sessionId),
    isRight: (sessionId, password) =>
      ofSecret.isRight(sessionId, password) || apachePasswords.isRight(sessionId, password),
  }
}

/** Every server with the secret computes the same password for a session, and nobody else can. */
export function secretPasswords(secret: string): SessionPasswords {
  const of = (sessionId: bigint): Uint8Array => {
    const id = Buffer.alloc(8)
    id.writeBigInt64BE(sessionId)
    return createHmac('sha256', secret).update(id).digest().subarray(0, passwordBytes)
  }
  return {
    of,
    isRight: (sessionId, password) =>
      sessionId !== 0n &&
      password?.length === passwordBytes &&
      timingSafeEqual(of(sessionId), password),
  }
}

function readSecret(file: string, logger: EventLogger): string {
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').trim()
    if ((statSync(file).mode & othersMayRead) !== 0) {
      logger.warn('session: secretFile is readable by other users, run chmod 600', { file })
    }
  } catch (error) {
    throw new StartError(`session.secretFile: ${(error as Error).message}`, error as Error)
  }
  if (secret.length >= secretLengthMin) return secret
  throw new StartError(
    `session.secretFile: ${file} holds ${secret.length} characters, but needs ${secretLengthMin}; make one with: openssl rand -hex 32`,
  )
}
