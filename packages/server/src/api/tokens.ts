import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Id } from '@zabra/protocol'
import type { EventLogger } from '../base/event-logger.ts'
import { StartError } from '../base/start-error.ts'
import { roles, type Role } from './roles.ts'

/** The holder of a token. */
export interface TokenGrant {
  readonly role: Role
  /** The token itself, by its name, and the identity that it stands for in ACLs. */
  readonly identities: readonly Id[]
}

const othersMayRead = 0o044
const lookEveryMs = 1000

/**
 * The tokens that programs may send as `Authorization: Bearer TOKEN`, from a file of lines
 * `NAME ROLE HASH [SCHEME:ID]`. The file has hashes, so reading it does not give anybody a token. It
 * is read again when it changes.
 */
export class Tokens {
  private readonly file: string
  private readonly logger: EventLogger
  private granted: ReadonlyMap<string, TokenGrant>
  private state = ''
  private lookedMs = -Infinity

  /** Throws a StartError if the file cannot be used. */
  constructor(file: string, logger: EventLogger) {
    this.file = file
    this.logger = logger
    try {
      this.state = stateOf(file)
      this.granted = tokensIn(readFileSync(file, 'utf8'))
      if ((statSync(file).mode & othersMayRead) !== 0) {
        logger.warn('api: tokenFile is readable by other users, run chmod 600', { file })
      }
    } catch (error) {
      throw new StartError(`api.tokenFile: ${(error as Error).message}`, error as Error)
    }
  }

  /** Undefined for an unknown token. */
  find(token: string): TokenGrant | undefined {
    this.refresh()
    return this.granted.get(hashOf(token))
  }

  private refresh(): void {
    const now = performance.now()
    if (now - this.lookedMs < lookEveryMs) return
    this.lookedMs = now
    try {
      const state = stateOf(this.file)
      if (state === this.state) return
      this.state = state
      this.granted = tokensIn(readFileSync(this.file, 'utf8'))
      this.logger.info('api: read tokens again', { file: this.file, tokens: this.granted.size })
    } catch (error) {
      this.logger.error('api: cannot read tokens, keeping the previous ones', {
        file: this.file,
        error: (error as Error).message,
      })
    }
  }
}

function stateOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file)
  return `${mtimeMs} ${size} ${ino}`
}

/** Reads the lines of a token file. Throws an Error that names the line. */
export function tokensIn(text: string): ReadonlyMap<string, TokenGrant> {
  const found = new Map<string, TokenGrant>()
  for (const [at, line] of text.split('\n').entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const [name = '', role = '', hash = '', ...rest] = trimmed.split(/\s+/)
    // Names of certificates have spaces.
    const [, scheme, id] = /^([^:]+):(.+)$/.exec(rest.join(' ')) ?? []
    const problem = !isGrantable(role)
      ? `the role is one of ${roles.slice(1).join(', ')}`
      : !/^[0-9a-f]{64}$/.test(hash)
        ? 'the hash is that of sha256sum, 64 hexadecimal digits'
        : rest.length > 0 && id === undefined
          ? 'the identity is SCHEME:ID'
          : undefined
    if (problem !== undefined) throw new Error(`line ${at + 1}: ${problem}`)
    const own = { scheme: 'token', id: name }
    const standsFor = id === undefined ? [] : [{ scheme: scheme!, id }]
    found.set(hash, { role: role as Role, identities: [own, ...standsFor] })
  }
  return found
}

function isGrantable(role: string): boolean {
  return role !== 'none' && (roles as readonly string[]).includes(role)
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
