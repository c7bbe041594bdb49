/** Checks that nothing a client saw is lost, and that clients never see older state than before. */
import type { History } from '../history/history.ts'
import type { Life } from '../history/recorder.ts'
import { isWrite } from '../client/request.ts'
import { describe, type Timeline } from './timeline.ts'
import type { Report } from './report.ts'

/** A restart must recover at least what was visible in earlier lives of the server. */
export function checkNothingShownIsLost(
  history: History,
  lives: readonly Life[],
  report: Report,
): void {
  for (const { client, life, frames } of history.conversations) {
    for (const frame of frames) {
      const lost = lives.find((later) => later.life > life && later.zxid < frame.zxid)
      if (lost === undefined) continue
      const what = frame.kind === 'reply' ? describe(frame.operation) : `${client}: ${frame.kind}`
      report(`${what} was shown zxid ${frame.zxid}, but life ${lost.life} began at ${lost.zxid}`)
    }
  }
}

/** A session that a client got must be in the log, unless it may have stayed local. */
export function checkSessions(history: History, timeline: Timeline, report: Report): void {
  for (const { id, client, ended, closing } of history.sessions.values()) {
    const session = timeline.sessions.get(id)
    if (session === undefined) {
      if (!history.hasLocalSessions) report(`${client} was given session ${id}, which no log has`)
    } else if (ended !== undefined && session.to === undefined) {
      report(`${client} was told that session ${id} is over, and it is not`)
    } else if (closing?.returned !== undefined && session.to === undefined) {
      report(`${client} closed session ${id}, and it goes on`)
    }
  }
}

/**
 * An operation that began after another was answered must be ordered after it. If servers may
 * answer reads from the past, this applies to writes only.
 */
export function checkRealTimeOrder(
  history: History,
  ofWhat: 'everything' | 'writes',
  report: Report,
): void {
  const calls = history.operations.toSorted((a, b) => a.called - b.called)
  const returns = history.operations
    .filter(({ returned, zxid }) => returned !== undefined && (zxid ?? 0n) > 0n)
    .toSorted((a, b) => a.returned! - b.returned!)
  let latest = 0n
  let at = 0
  for (const operation of calls) {
    for (; at < returns.length && returns[at]!.returned! < operation.called; at++) {
      const { zxid } = returns[at]!
      if (zxid! > latest) latest = zxid!
    }
    const { zxid, request, result } = operation
    if (zxid === undefined || zxid <= 0n || result === undefined) continue
    const isNew = isWrite(request) && result.err !== -1
    if (!isNew && ofWhat === 'writes') continue
    if (zxid < latest || (isNew && zxid === latest)) {
      report(`${describe(operation)} was ordered at ${zxid}, but began after ${latest} was shown`)
    }
  }
}

/**
 * A sync must be ordered after everything that any client saw before it: reads after a sync are
 * linearizable.
 */
export function checkSyncs(history: History, report: Report): void {
  const shown = history.operations
    .filter(({ returned, zxid }) => returned !== undefined && (zxid ?? 0n) > 0n)
    .toSorted((a, b) => a.returned! - b.returned!)
  for (const operation of history.operations) {
    const { request, result, zxid, called } = operation
    if (request.op !== 'sync' || result?.err !== 0 || zxid === undefined) continue
    const newer = shown.find((other) => other.returned! < called && other.zxid! > zxid)
    if (newer === undefined) continue
    report(
      `${describe(operation)} was answered at ${zxid}, but began after ${newer.zxid} was shown`,
    )
  }
}
