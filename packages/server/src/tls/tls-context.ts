import { stat } from 'node:fs/promises'
import type { SecureContext } from 'node:tls'
import type { TlsSettings } from '../config/tls-settings.ts'
import { every } from '../base/every.ts'
import type { EventLogger, LogFields } from '../base/event-logger.ts'
import { loadCredentials, TlsConfigError, type Credentials } from './credentials.ts'
import { subjectOf } from './distinguished-name.ts'
import { outdatedLists } from './revocation-lists.ts'

/** Interval of checking the files; each check costs a few calls of stat. */
const lookMs = 1000
const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
/** A certificate that expires sooner than this gets a warning every day. */
const warnBeforeDays = 30

/** The purpose of a TLS context. */
export type TlsUse = 'clients' | 'servers' | 'administrators'

/** The certificates of one use of TLS, kept up to date with their files. */
export class TlsContext {
  readonly use: TlsUse
  readonly settings: TlsSettings
  /** Reloads that put new credentials into use, and refused ones. */
  reloads = 0
  failedReloads = 0
  /** Why the current files are not in use; undefined if they are. */
  problem: string | undefined
  private credentials: Credentials
  private readonly logger: EventLogger
  private readonly listeners = new Set<(context: Credentials) => void>()
  private seen: string | undefined
  private isLooking = false
  private endLooking: (() => void) | undefined
  private endWarning: (() => void) | undefined
  private endCheckingLists: (() => void) | undefined
  /** The outdated revocation lists that have been reported. */
  private readonly reported = new Set<string>()

  /** Throws a TlsConfigError if the files cannot be used. */
  constructor(use: TlsUse, settings: TlsSettings, reload: boolean, logger: EventLogger) {
    this.use = use
    this.settings = settings
    this.logger = logger
    this.credentials = loadCredentials(settings)
    this.warnOfSettings()
    this.warnOfExpiry()
    this.warnOfLists()
    this.endWarning = every(dayMs, () => this.warnOfExpiry())
    this.endCheckingLists = every(hourMs, () => this.warnOfLists())
    if (!reload) return
    void this.look()
    this.endLooking = every(lookMs, () => void this.look())
  }

  get current(): Credentials {
    return this.credentials
  }

  get secureContext(): SecureContext {
    return this.credentials.context
  }

  /** End of validity of the served certificate, in milliseconds since 1970. */
  get expiresMs(): number {
    return Date.parse(this.credentials.chain[0]!.validTo)
  }

  get subject(): string {
    return subjectOf(this.credentials.chain[0]!.raw)
  }

  onChange(listener: (credentials: Credentials) => void): void {
    this.listeners.add(listener)
  }

  stop(): void {
    this.endLooking?.()
    this.endWarning?.()
    this.endCheckingLists?.()
  }

  /** Reads the files again. If they cannot be used, the previous certificates stay in use. */
  reload(): boolean {
    const { logger, use } = this
    try {
      const credentials = loadCredentials(this.settings)
      this.credentials = credentials
      this.reloads++
      this.problem = undefined
      for (const listener of this.listeners) listener(credentials)
      this.warnOfSettings()
      logger.info('tls: loaded new certificate', this.certificateFields())
      this.warnOfExpiry()
      this.warnOfLists()
      return true
    } catch (error) {
      if (!(error instanceof TlsConfigError)) throw error
      this.failedReloads++
      if (this.problem !== error.message) {
        logger.error('tls: cannot load changed files, keeping the old certificate', {
          use,
          error: error.message,
        })
      }
      this.problem = error.message
      return false
    }
  }

  private certificateFields(): LogFields {
    const { use, subject, expiresMs } = this
    const { serialNumber: serial } = this.credentials.chain[0]!
    return { use, subject, serial, expires: new Date(expiresMs).toISOString() }
  }

  /**
   * Follows symbolic links, which orchestrators swap. A file that is read while it is being written
   * is read again after its next change.
   */
  private async look(): Promise<void> {
    if (this.isLooking) return
    this.isLooking = true
    try {
      const { files } = this.credentials
      const now = (await Promise.all(files.map(identityOf))).join('\n')
      const isFirst = this.seen === undefined
      const hasChanged = this.seen !== now
      this.seen = now
      if (!isFirst && hasChanged) this.reload()
    } finally {
      this.isLooking = false
    }
  }

  private warnOfExpiry(): void {
    const { logger } = this
    const daysLeft = Math.floor((this.expiresMs - Date.now()) / dayMs)
    if (daysLeft >= warnBeforeDays) return
    const fields = this.certificateFields()
    if (daysLeft < 0) logger.error('tls: certificate has expired', fields)
    else logger.warn('tls: certificate expires soon', { ...fields, daysLeft })
  }

  private warnOfLists(): void {
    const { logger, use, reported } = this
    for (const { pem, issuer, nextUpdate } of outdatedLists(
      this.credentials.revocationLists,
      Date.now(),
    )) {
      if (reported.has(pem)) continue
      reported.add(pem)
      logger.error('tls: revocation list is out of date, refusing all certificates of its issuer', {
        use,
        issuer,
        nextUpdate: nextUpdate.toISOString(),
      })
    }
  }

  private warnOfSettings(): void {
    const { logger, use } = this
    for (const problem of this.credentials.warnings) {
      logger.warn('tls: questionable setting', { use, problem })
    }
  }
}

async function identityOf(file: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(file)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
