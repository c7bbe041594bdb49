/** The selection of locks, elections, queues and groups that is shown, with their state. */

export interface Contender {
  readonly node: string
  readonly holds: boolean
  readonly mode: 'read' | 'write' | null
  readonly id: string | null
  readonly session: string
  readonly token: string
  readonly since: string
  readonly library: string
}
export interface Line {
  readonly path: string
  readonly kind: string
  readonly total: number
  readonly hidden: number
  readonly contenders: readonly Contender[]
}

export interface Wait {
  readonly waiter: string
  readonly holder: string
  readonly path: string
}

export interface Coordination {
  readonly lines: readonly Line[]
  readonly waits: readonly Wait[]
  readonly deadlocks: readonly (readonly Wait[])[]
  readonly isTruncated: boolean
  readonly unreadable: number
}

/** A contender that waits longer than this may be stuck. */
export const longMs = 60_000

export const kindGroups = {
  locks: ['lock', 'read/write lock', 'simple lock'],
  semaphores: ['semaphore'],
  elections: ['election'],
  queues: ['queue'],
  groups: ['group'],
} as const
export type KindGroup = keyof typeof kindGroups

export function groupOf({ kind }: Line): KindGroup {
  const found = Object.entries(kindGroups).find(([, kinds]) => kinds.some((each) => each === kind))
  return (found?.[0] ?? 'locks') as KindGroup
}

/** Waiting is what locks make; who does not lead, or is in a queue, goes on with other work. */
export const makesWait = (line: Line): boolean => ['locks', 'semaphores'].includes(groupOf(line))

export const waitersOf = ({ contenders }: Line): readonly Contender[] =>
  contenders.filter(({ holds }) => !holds)

/** Since when the first waiter waits; undefined where nobody does. */
export function waitingSince(line: Line): number | undefined {
  if (!makesWait(line)) return undefined
  const times = waitersOf(line).map(({ since }) => Date.parse(since))
  return times.length === 0 ? undefined : Math.min(...times)
}

export type Standing = 'deadlock' | 'stuck' | 'waiting' | 'calm'
const order: readonly Standing[] = ['deadlock', 'stuck', 'waiting', 'calm']

function standingOf(line: Line, deadlocks: Coordination['deadlocks'], nowMs: number): Standing {
  if (deadlocks.some((circle) => circle.some(({ path }) => path === line.path))) return 'deadlock'
  const since = waitingSince(line)
  if (since === undefined) return 'calm'
  return nowMs - since > longMs ? 'stuck' : 'waiting'
}

/** Those that need somebody's attention come first. */
export function sorted(
  lines: readonly Line[],
  deadlocks: Coordination['deadlocks'],
  nowMs: number,
): readonly { readonly line: Line; readonly standing: Standing }[] {
  return lines
    .map((line) => ({ line, standing: standingOf(line, deadlocks, nowMs) }))
    .toSorted(
      (a, b) =>
        order.indexOf(a.standing) - order.indexOf(b.standing) ||
        (a.line.path < b.line.path ? -1 : 1),
    )
}

/** The names that sessions give themselves where they contend. */
export function namesIn(lines: readonly Line[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { contenders } of lines) {
    for (const { session, id } of contenders) {
      if (id !== null && id !== '' && !found.has(session)) found.set(session, id)
    }
  }
  return found
}
