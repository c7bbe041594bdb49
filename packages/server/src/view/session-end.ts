import type { PastConnection, SessionEnd } from '@zabra/core'

/** The cause of a session's end, in a word. */
export const sessionVerdicts = [
  /** A client or an administrator closed it. */
  'closed',
  /** Its connection was open, but the client sent nothing. */
  'silent',
  /** Its connection broke, or its client closed it, and the client did not return. */
  'disconnected',
  /** This server ended the connection, and the client did not return. */
  'dropped',
  /** This server was stalled for a good part of the timeout. */
  'stalled',
  /** A server was elected in the meantime. */
  'election',
  /** Its client was connected to another server, which knows more. */
  'elsewhere',
] as const
export type SessionVerdict = (typeof sessionVerdicts)[number]

/** Number of expired sessions, by verdict. */
export type VerdictCounts = Record<SessionVerdict, number>

export function noVerdicts(): VerdictCounts {
  return Object.fromEntries(sessionVerdicts.map((verdict) => [verdict, 0])) as VerdictCounts
}

export interface SessionVerdictText {
  readonly verdict: SessionVerdict
  /** The observations, most important first. */
  readonly sentences: readonly string[]
  /** The facts that this server cannot know. */
  readonly unknown: readonly string[]
}

/** Explains the end of a session in words. */
export function explainEnd(end: SessionEnd): SessionVerdictText {
  const { isExpired, connections, timeoutMs = 0, stalls, roles, moves = 0 } = end
  if (!isExpired) {
    return { verdict: 'closed', sentences: ['It was closed on request.'], unknown: [] }
  }
  const last = connections.at(-1)
  const stalledMs = stalls.reduce((sum, { ms }) => sum + ms, 0)
  const sentences: string[] = []
  let verdict = verdictOf(end, last)
  if (last === undefined) sentences.push(elsewhere(end))
  else sentences.push(connectionSentence(end, last))
  if (stalls.length > 0) {
    // A client that disconnected would have expired in any case.
    const isMuch = stalledMs >= timeoutMs / 3 && verdict !== 'disconnected'
    if (isMuch) verdict = 'stalled'
    const text = `This server stood still for ${seconds(stalledMs)} meanwhile.`
    if (isMuch) sentences.unshift(text)
    else sentences.push(text)
  }
  if (roles.length > 0) {
    if (verdict !== 'stalled' && verdict !== 'disconnected') verdict = 'election'
    const text = roles.map(({ role, wallMs }) => `${role} since ${iso(wallMs)}`).join(', then ')
    sentences.push(`This server took another role meanwhile: ${text}.`)
  }
  if (moves > 0)
    sentences.push(`Its client changed servers ${moves} ${moves === 1 ? 'time' : 'times'}.`)
  return { verdict, sentences, unknown: unknownOf(end) }
}

function verdictOf(
  { isDecidedHere }: SessionEnd,
  last: PastConnection | undefined,
): SessionVerdict {
  if (last === undefined) return 'elsewhere'
  switch (last.end) {
    case undefined:
      return 'silent'
    case 'server':
      return 'dropped'
    case 'replaced':
      return isDecidedHere ? 'silent' : 'elsewhere'
    default:
      return 'disconnected'
  }
}

function connectionSentence(end: SessionEnd, last: PastConnection): string {
  const { address, closedWallMs } = last
  const ago = closedWallMs === undefined ? '' : seconds(end.wallMs - closedWallMs)
  switch (last.end) {
    case undefined:
      return `Its connection from ${address} was open, but nothing came for ${seconds(end.lastHeardMsAgo ?? 0)}: the client was busy or stopped, or the network lost what it sent.`
    case 'broken':
      return `Its connection from ${address} broke ${ago} before, and the client did not come back.`
    case 'client':
      return `Its client at ${address} closed the connection ${ago} before without closing the session, and did not come back: most likely its process ended.`
    case 'replaced':
    case 'server':
      return `This server closed the connection from ${address} ${ago} before, and the client did not come back here.`
  }
}

function elsewhere({ heldBy, lastHeardMsAgo }: SessionEnd): string {
  const where = heldBy === undefined ? 'another server' : `server ${heldBy}`
  const heard =
    lastHeardMsAgo === undefined ? '' : ` The last message came ${seconds(lastHeardMsAgo)} before.`
  return `Its client was not connected to this server, but to ${where}.${heard}`
}

function unknownOf({ connections, isDecidedHere, heldBy }: SessionEnd): string[] {
  const unknown: string[] = []
  if (connections.length === 0) {
    const where = heldBy === undefined ? 'the server that the client used' : `server ${heldBy}`
    unknown.push(`its connections: ask ${where}`)
  } else if (!isDecidedHere) unknown.push('when the leader last heard of it: ask the leader')
  return unknown
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
