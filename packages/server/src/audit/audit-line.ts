import { hex } from '@zabra/core'
import type { AuditEvent } from './audit-event.ts'

/** The logger name in the prefix of a line, as in Apache's default logging configuration. */
const loggerName = 'audit.Slf4jAuditLogger'

/** A line in Apache's format: tabs between `key=value`, and failures at level ERROR. */
export function textLine(event: AuditEvent, at: Date): string {
  const { session, user, ip, operation, znode, znodeType, acl, result } = event
  const fields = { session, user, ip, operation, znode, znode_type: znodeType, acl, result }
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${oneLine(value!)}`)
  const level = result === 'failure' ? 'ERROR' : 'INFO'
  return `${localTime(at)} ${level} ${loggerName}: ${pairs.join('\t')}\n`
}

/** The same as a JSON object, with fields that Apache's format does not have. */
export function jsonLine(event: AuditEvent, at: Date): string {
  const { zxid, znodeType, identities, error, ...rest } = event
  return `${JSON.stringify({
    time: at.toISOString(),
    ...rest,
    znode_type: znodeType,
    identities,
    zxid: zxid === undefined ? undefined : hex(zxid),
    error,
  })}\n`
}

/** A name with a line break must not look like another line. */
function oneLine(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The time format of Java's logging: `2026-01-31 23:59:59,999`. */
function localTime(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
  return `${day} ${time},${String(at.getMilliseconds()).padStart(3, '0')}`
}
