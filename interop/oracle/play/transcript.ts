/** The record of a play: plain, comparable data, except for zxids that are not ranked yet. */

/** A zxid as received; it becomes a rank when the play is over. */
export class SeenZxid {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

export type Told =
  | null
  | undefined
  | boolean
  | number
  | string
  | SeenZxid
  | readonly Told[]
  | { readonly [field: string]: Told }

/** One thing that a connection received, or that happened to it. */
export type Received = { [field: string]: Told }

/** The data that every connection received during one step. */
export interface StepResult {
  received: Record<number, Received[]>
  /** The step found its session closed. */
  skipped?: boolean
  /** A member of the ensemble has not caught up. */
  behind?: boolean
  fourLetters?: Told
  /** In the last step: the remaining tree. */
  tree?: Told[]
  /** In the last step: the last reply. */
  end?: Told
  /** The program could not be played to its end. */
  playerError?: string
}

export type Transcript = StepResult[]

export function newResult(): StepResult {
  return { received: {} }
}

/** The list of a connection, created on first use. */
export function listOf(result: StepResult, index: number): Received[] {
  return (result.received[index] ??= [])
}

export function isNotification(received: Received): boolean {
  return received['xid'] === -1
}

export type ZxidMode = 'rank' | 'exact' | 'loose'

/**
 * Replaces every zxid by its rank among all zxids of this play or, if exact, by its distance from
 * the first reply's. Older zxids belong to earlier plays, which may have taken different numbers of
 * transactions on the two sides (one tree needed more deletions), so they only have a rank.
 */
export function rankZxids(transcript: Transcript, mode: ZxidMode): Transcript {
  const seen = new Set<bigint>()
  visit(transcript as unknown as Told, (zxid) => seen.add(zxid))
  const [start = 0n] = seen
  const order = [...seen].toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const olderCount = order.indexOf(start)
  const nameOf = (zxid: bigint, rank: number) => {
    if (mode !== 'exact') return `z${rank}`
    return zxid < start ? `z-${olderCount - rank}` : `z+${zxid - start}`
  }
  const names = new Map(order.map((zxid, rank) => [zxid, nameOf(zxid, rank)]))
  return convert(transcript as unknown as Told, names) as unknown as Transcript
}

function visit(told: Told, onZxid: (zxid: bigint) => void): void {
  if (told instanceof SeenZxid) onZxid(told.value)
  else if (typeof told === 'object' && told !== null) {
    for (const inner of Object.values(told)) visit(inner, onZxid)
  }
}

function convert(told: Told, names: ReadonlyMap<bigint, string>): Told {
  if (told instanceof SeenZxid) return names.get(told.value)
  if (Array.isArray(told)) return told.map((inner: Told) => convert(inner, names))
  if (typeof told !== 'object' || told === null) return told
  const entries = Object.entries(told).map(([key, inner]) => [key, convert(inner, names)])
  return Object.fromEntries(entries) as Told
}
