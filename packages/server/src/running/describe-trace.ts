import { hex, type JournalEvent, type SessionEnd, type TraceEvent } from '@zabra/core'
import { error, info, warn, type LogEntry } from '../base/event-logger.ts'
import { explainEnd } from '../view/session-end.ts'

/** An event as a line of the log; undefined if it would only be noise. */
export function describeTrace(event: TraceEvent): LogEntry | undefined {
  switch (event.type) {
    case 'sessionCreated':
    case 'sessionResumed':
    case 'sessionClosed':
    case 'reclaimed':
    case 'writesSuspended':
    case 'writesResumed':
      return undefined
    case 'sessionRefused':
      return info('session: refused client', {
        session: hex(event.sessionId),
        address: event.address,
        reason: event.reason,
      })
    case 'clientAhead':
      return info('session: refused client that has seen a newer state than this server', {
        address: event.address,
        clientZxid: hex(event.lastZxidSeen),
        zxid: hex(event.lastZxid),
      })
    case 'sessionEnded':
      return event.end.isExpired ? sessionEndEntry(event.end) : undefined
    case 'sessionExpired':
      return info('session: timed out', {
        session: hex(event.sessionId),
        timeoutMs: event.timeoutMs,
      })
    case 'badFrame':
      return info('client: closed connection after an invalid request', {
        address: event.address,
        reason: event.reason,
      })
    case 'unknownOperation':
      return info('client: closed connection after an unknown operation', {
        address: event.address,
        operation: event.operation,
      })
    case 'authFailed':
      return info('client: authentication failed', {
        address: event.address,
        scheme: event.scheme?.slice(0, schemeCharactersMax),
      })
    case 'limitReached':
      return warn('client: reached a limit', { address: event.address, limit: event.limit })
    case 'quotaExceeded':
      return warn('quota: subtree exceeds its limit', {
        path: event.path,
        kind: event.what,
        used: event.used,
        limit: event.limit,
      })
    case 'digestMismatch':
      return error('tree: digest differs from that of the leader', {
        zxid: hex(event.zxid),
        digest: event.actual,
        expected: event.expected,
      })
  }
}

/** A client chooses the name of its scheme. */
const schemeCharactersMax = 64

function sessionEndEntry(end: SessionEnd): LogEntry {
  const { verdict, sentences } = explainEnd(end)
  return info('session: expired', {
    session: hex(end.sessionId),
    verdict,
    reason: sentences.join(' '),
  })
}

/** An event of the journal as a line of the log. */
export function describeJournal(event: JournalEvent, isInEnsemble: boolean): LogEntry {
  switch (event.type) {
    case 'diskFull':
      return isInEnsemble
        ? error('disk: full, leaving the ensemble until there is room', { error: event.message })
        : error('disk: full, refusing writes until there is room', { error: event.message })
    case 'diskFree':
      return info('disk: has room again, accepting writes')
    case 'slowSync':
      return warn('disk: log sync is slow', { ms: Math.round(event.ms) })
    case 'snapshotTaken':
      return info('snapshot: written', {
        file: event.file,
        bytes: event.bytes,
        ms: Math.round(event.ms),
      })
    case 'snapshotFailed':
      return error('snapshot: cannot write', { error: event.message })
    case 'purged':
      return info('purge: removed old files', { files: event.files })
    case 'purgeFailed':
      return warn('purge: cannot remove old files', { error: event.message })
  }
}
