/** The roles of a server over time, and the leaders of the ensemble, as each member has seen them. */

export interface Entry {
  readonly time: string
  readonly kind: string
  readonly leader: string | null
  readonly epoch: number | null
  readonly text: string
}

export interface TimelineJson {
  readonly started: string
  readonly now: string
  readonly entries: readonly Entry[]
}

export type Role = 'starting' | 'looking' | 'synchronizing' | 'following' | 'leading' | 'readOnly'

export interface Stretch {
  readonly role: Role
  readonly fromMs: number
  readonly toMs: number
  readonly leader: string | null
  readonly epoch: number | null
}

export interface Moment {
  readonly server: string
  readonly timeMs: number
  readonly text: string
  readonly kind: string
}

export interface Lane {
  readonly id: string
  readonly stretches: readonly Stretch[]
  readonly moments: readonly Moment[]
  readonly startedMs: number
  /** Until when it is known. */
  readonly knownMs: number
}

const roles: Readonly<Record<string, Role>> = {
  looking: 'looking',
  elected: 'looking',
  appointed: 'looking',
  roleEnded: 'looking',
  takingOver: 'synchronizing',
  following: 'following',
  leading: 'leading',
  readOnly: 'readOnly',
  readOnlyWhileFull: 'readOnly',
}

/** The lane of a server; `atMs` is when it answered, by the clock of this page. */
export function laneOf(id: string, { started, now, entries }: TimelineJson, atMs: number): Lane {
  // Clocks of servers differ, and lanes are compared.
  const skewMs = Date.parse(now) - atMs
  const msOf = (time: string): number => Date.parse(time) - skewMs
  const startedMs = msOf(started)
  const stretches: Stretch[] = []
  let open: Omit<Stretch, 'toMs'> = {
    role: 'starting',
    fromMs: startedMs,
    leader: null,
    epoch: null,
  }
  const end = (toMs: number): void => {
    if (toMs > open.fromMs) stretches.push({ ...open, toMs })
  }
  for (const { time, kind, leader, epoch } of entries) {
    const role = roles[kind]
    if (role === undefined) continue
    const fromMs = Math.max(msOf(time), open.fromMs)
    const isSame = role === open.role && (role === 'looking' || epoch === open.epoch)
    if (isSame) continue
    end(fromMs)
    open = { role, fromMs, leader, epoch }
  }
  end(atMs)
  const moments = entries.map((each) => ({
    server: id,
    timeMs: msOf(each.time),
    text: each.text,
    kind: each.kind,
  }))
  return { id, stretches, moments, startedMs, knownMs: atMs }
}

/** Somebody led, from when to when; `gapMs` passed without a leader before. */
export interface Reign {
  readonly leader: string
  readonly epoch: number | null
  readonly fromMs: number
  /** Undefined: it still leads. */
  readonly toMs: number | undefined
  /** Undefined where nobody is known to have led before. */
  readonly gapMs: number | undefined
  /** Whether the leader before gave its role away; undefined where that server has forgotten it. */
  readonly isHandOver: boolean | undefined
}

/** The leaders, newest first, from their own lanes and the reports of their followers. */
export function reignsIn(lanes: readonly Lane[], nowMs: number): readonly Reign[] {
  const byEpoch = new Map<
    string,
    { leader: string; epoch: number | null; fromMs: number; toMs: number }
  >()
  for (const { id, stretches } of lanes) {
    for (const { role, leader, epoch, fromMs, toMs } of stretches) {
      if (role !== 'leading' && role !== 'following') continue
      const who = role === 'leading' ? id : leader
      if (who === null) continue
      const key = `${epoch} ${who}`
      const known = byEpoch.get(key)
      if (known === undefined) byEpoch.set(key, { leader: who, epoch, fromMs, toMs })
      else {
        known.fromMs = Math.min(known.fromMs, fromMs)
        known.toMs = Math.max(known.toMs, toMs)
      }
    }
  }
  const all = [...byEpoch.values()].toSorted((a, b) => a.fromMs - b.fromMs)
  const handedOver = lanes.flatMap(({ id, moments }) =>
    moments.filter(({ kind }) => kind === 'handingOver').map(({ timeMs }) => ({ id, timeMs })),
  )
  const latestMs = Math.max(0, ...lanes.map(({ knownMs }) => knownMs))
  return all
    .map(({ leader, epoch, fromMs, toMs }, at): Reign => {
      const before = all[at - 1]
      const isHandOver = handedOver.some(
        ({ id, timeMs }) =>
          id === before?.leader && timeMs >= before.fromMs && timeMs <= fromMs + 1000,
      )
      const remembers =
        before === undefined ||
        lanes.some(({ id, startedMs }) => id === before.leader && startedMs <= before.toMs)
      return {
        leader,
        epoch,
        fromMs,
        toMs: at === all.length - 1 && toMs >= latestMs - 1 ? undefined : Math.min(toMs, nowMs),
        gapMs: before === undefined ? undefined : Math.max(0, fromMs - before.toMs),
        isHandOver: isHandOver || remembers ? isHandOver : undefined,
      }
    })
    .toReversed()
}
