/** The ends of sessions, combined from the reports of all servers. */

export const verdicts = [
  'silent',
  'disconnected',
  'dropped',
  'stalled',
  'election',
  'elsewhere',
  'closed',
] as const
export type Verdict = (typeof verdicts)[number]

export const verdictText: Readonly<Record<Verdict, string>> = {
  silent: 'Client silent',
  disconnected: 'Client gone',
  dropped: 'Dropped by the server',
  stalled: 'Server stalled',
  election: 'Election',
  elsewhere: 'Not seen here',
  closed: 'Closed on request',
}

/** The end of a session as one server saw it. */
export interface SessionEnd {
  readonly id: string
  readonly zxid: string
  readonly time: string
  readonly verdict: Verdict
  readonly seen: readonly string[]
  readonly unknown: readonly string[]
  readonly timeoutMs: number | null
  readonly isDecidedHere: boolean
  readonly lastHeardMsAgo: number | null
  readonly lastHeardIsExact: boolean
  readonly heldBy: string | null
  readonly moves: number | null
  readonly connections: readonly {
    readonly address: string
    readonly opened: string
    readonly closed: string | null
    readonly end: 'client' | 'broken' | 'server' | 'replaced' | null
    readonly requests: number
    readonly longestGapMs: number
  }[]
  readonly stalls: readonly { readonly ended: string; readonly ms: number }[]
  readonly roles: readonly { readonly time: string; readonly role: string }[]
}

/** The report of a server. */
export interface Report {
  readonly server: string
  readonly end: SessionEnd
}

/** The end of a session, with the report of each server that knows of it. */
export interface Ended {
  readonly id: string
  readonly zxid: string
  readonly time: string
  readonly verdict: Verdict
  /** That of the server of the client comes first. */
  readonly reports: readonly Report[]
}

/** One entry for each session that ended, the last one first. */
export function together(reports: readonly Report[]): readonly Ended[] {
  const byEnd = new Map<string, Report[]>()
  for (const report of reports) {
    const key = `${report.end.id} ${report.end.zxid}`
    byEnd.set(key, [...(byEnd.get(key) ?? []), report])
  }
  const ended = Array.from(byEnd.values(), (all): Ended => {
    const ordered = all.toSorted((a, b) => weightOf(b) - weightOf(a))
    const { id, zxid, time, verdict } = ordered[0]!.end
    return { id, zxid, time, verdict, reports: ordered }
  })
  return ended.toSorted((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
}

/** The server that had the client knows most, and the one that decided more than the others. */
function weightOf({ end }: Report): number {
  return (
    (end.verdict === 'elsewhere' ? 0 : 4) +
    (end.connections.length > 0 ? 2 : 0) +
    (end.isDecidedHere ? 1 : 0)
  )
}

/** A part of a time line, in shares of its length. */
export interface Bar {
  readonly kind: 'connection' | 'stall'
  readonly from: number
  readonly to: number
  readonly text: string
}
export interface Mark {
  readonly kind: 'heard' | 'role'
  readonly at: number
  readonly text: string
}
export interface Course {
  readonly fromMs: number
  readonly toMs: number
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

const endText = {
  client: 'the client closed it',
  broken: 'it broke',
  server: 'the server closed it',
  replaced: 'the client came back on another one',
} as const

/** The last moments of a session, up to its end. */
export function courseOf(end: SessionEnd): Course {
  const toMs = Date.parse(end.time)
  const lastHeardMs = toMs - (end.lastHeardMsAgo ?? end.timeoutMs ?? 0)
  const lengthMs = Math.max(1000, (toMs - lastHeardMs) * 1.6, (end.timeoutMs ?? 0) * 1.3)
  const fromMs = toMs - lengthMs
  const share = (ms: number): number => Math.min(1, Math.max(0, (ms - fromMs) / lengthMs))
  const connections = end.connections.map((each): Bar => {
    const closedMs = each.closed === null ? toMs : Date.parse(each.closed)
    const how = each.end === null ? 'open to the end' : endText[each.end]
    return {
      kind: 'connection',
      from: share(Date.parse(each.opened)),
      to: share(closedMs),
      text: `connection from ${each.address}: ${how}`,
    }
  })
  const stalls = end.stalls.map(({ ended, ms }): Bar => ({
    kind: 'stall',
    from: share(Date.parse(ended) - ms),
    to: share(Date.parse(ended)),
    text: `the server stood still for ${ms} ms`,
  }))
  const roles = end.roles.map(({ time, role }): Mark => ({
    kind: 'role',
    at: share(Date.parse(time)),
    text: `the server became ${role}`,
  }))
  const heard: readonly Mark[] =
    end.lastHeardMsAgo === null
      ? []
      : [{ kind: 'heard', at: share(lastHeardMs), text: 'last heard' }]
  const visible = connections.filter(({ to }) => to > 0)
  return { fromMs, toMs, bars: [...visible, ...stalls], marks: [...heard, ...roles] }
}
