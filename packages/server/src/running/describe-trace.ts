import type { JournalEvent, SessionEnd, TraceEvent } from '@zabra/core'
import { explainEnd } from '../view/session-end.ts'
import type { Logger } from '../base/logger.ts'

const hex = (id: bigint): string => `0x${BigInt.asUintN(64, id).toString(16)}`

/** What an event says in the log; undefined where it would only be noise. */
export function describeTrace(
  event: TraceEvent,
): { level: keyof Logger; text: string } | undefined {
  switch (event.type) {
    case 'sessionCreated':
    case 'sessionResumed':
    case 'sessionClosed':
    case 'reclaimed':
      return undefined
    case 'sessionRefused':
      return info(`${event.address}: session ${hex(event.sessionId)} refused (${event.reason})`)
    case 'clientAhead':
      return info(
        `${event.address} has seen ${hex(event.lastZxidSeen)}, we only ${hex(event.lastZxid)}: it must go elsewhere`,
      )
    case 'sessionEnded':
      return event.end.isExpired ? info(sessionEndLine(event.end)) : undefined
    case 'sessionExpired':
      return info(`session ${hex(event.sessionId)} expired after ${event.timeoutMs} ms`)
    case 'badFrame':
      return info(`${event.address}: ${event.reason}; connection closed`)
    case 'unknownOperation':
      return info(`${event.address}: unknown operation ${event.operation}; connection closed`)
    case 'authFailed':
      return info(`${event.address}: authentication by ${quoted(event.scheme)} failed`)
    case 'limitReached':
      return {
        level: 'warn',
        text: `${event.address}: the limit ${event.limit} is reached; see docs/limits.md`,
      }
    case 'writesSuspended':
    case 'writesResumed':
      return undefined
    case 'quotaExceeded':
      return {
        level: 'warn',
        text: `${event.path} is above its quota: ${event.used} ${event.what}, where ${event.limit} are allowed`,
      }
    case 'digestMismatch':
      return {
        level: 'error',
        text: `after ${hex(event.zxid)} the tree has the digest ${event.actual}, where ${event.expected} is expected`,
      }
  }
}

function sessionEndLine(end: SessionEnd): string {
  const { verdict, sentences } = explainEnd(end)
  return `session ${hex(end.sessionId)} is over (${verdict}): ${sentences.join(' ')}`
}

const quotedMax = 64

/** What a client sent, so that it can neither end a line of the log nor fill it. */
function quoted(text: string | null): string {
  return JSON.stringify(text !== null && text.length > quotedMax ? text.slice(0, quotedMax) : text)
}

function info(text: string): { level: 'info'; text: string } {
  return { level: 'info', text }
}

/** What the journal did, as a line of the log. */
export function describeJournal(
  event: JournalEvent,
  isInEnsemble: boolean,
): { level: keyof Logger; text: string } {
  switch (event.type) {
    case 'diskFull':
      return {
        level: 'error',
        text: isInEnsemble
          ? `${event.message}; until there is room this server serves nobody, the others go on`
          : `${event.message}; writes are refused until there is room, reads and sessions go on`,
      }
    case 'diskFree':
      return info('there is room on the disk again: writes go on')
    case 'slowSync':
      return {
        level: 'warn',
        text: `making a batch durable took ${Math.round(event.ms)} ms: the disk is slow`,
      }
    case 'snapshotTaken':
      return info(`${event.file}: ${event.bytes} bytes in ${Math.round(event.ms)} ms`)
    case 'snapshotFailed':
      return { level: 'error', text: `no snapshot was taken: ${event.message}` }
    case 'purged':
      return info(`purged ${event.files.join(', ')}`)
    case 'purgeFailed':
      return { level: 'warn', text: `purging failed: ${event.message}` }
  }
}
