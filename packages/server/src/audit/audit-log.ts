import type { Auditor } from '@zabra/core'
import type { ServerConfig } from '../config/config.ts'
import type { EventLogger } from '../base/event-logger.ts'
import { writeOrLose } from '../base/logger.ts'
import { StartError } from '../base/start-error.ts'
import { eventsOf, serverUser, sessionText, type AuditEvent } from './audit-event.ts'
import { jsonLine, textLine } from './audit-line.ts'
import { RotatingFile } from './rotating-file.ts'

/** The audit log of a server. */
export interface AuditLog extends Auditor {
  started(): void
  /** The server could not start. */
  startFailed(): Promise<void>
  /** The server is about to stop. */
  stopped(): Promise<void>
  /** Lines that could not be written. */
  readonly lost: number
}

/** Undefined if none is configured; throws a StartError if the file cannot be written. */
export async function openAuditLog(
  { audit }: ServerConfig,
  logger: EventLogger,
): Promise<AuditLog | undefined> {
  if (!audit.enabled) return undefined
  const { file, fileBytesMax: bytesMax, filesMax, format } = audit
  const lines = format === 'json' ? jsonLine : textLine
  if (file === '-') {
    return auditLog(lines, {
      lost: 0,
      append: (line) => writeOrLose(process.stdout, line),
      close: async () => {},
    })
  }
  try {
    return auditLog(lines, await RotatingFile.open({ file, bytesMax, filesMax }, logger))
  } catch (error) {
    throw new StartError(`audit.file: ${file}: ${(error as Error).message}`, error)
  }
}

interface Output {
  readonly lost: number
  append(line: string): void
  close(): Promise<void>
}

function auditLog(line: (event: AuditEvent, at: Date) => string, output: Output): AuditLog {
  const write = (event: AuditEvent): void => output.append(line(event, new Date()))
  return {
    get lost() {
      return output.lost
    },
    answered(asked) {
      for (const event of eventsOf(asked)) write(event)
    },
    ephemeralsDeleted(sessionId, paths, zxid) {
      const operation = 'ephemeralZNodeDeletionOnSessionCloseOrExpire'
      const session = sessionText(sessionId)
      for (const znode of paths) {
        write({ session, user: serverUser, operation, znode, result: 'success', zxid })
      }
    },
    started() {
      write({ user: serverUser, operation: 'serverStart', result: 'success' })
    },
    async startFailed() {
      write({ user: serverUser, operation: 'serverStart', result: 'failure' })
      await output.close()
    },
    async stopped() {
      write({ user: serverUser, operation: 'serverStop', result: 'invoked' })
      await output.close()
    },
  }
}
