/** A rolling restart: which server is next, given what each has done since it began. */

export interface Advice {
  readonly id: string
  readonly verdict: 'next' | 'later' | 'last' | 'down' | 'unsafe'
  readonly reason: string
}

export interface Step extends Omit<Advice, 'verdict'> {
  readonly state: 'done' | 'now' | 'handOver' | 'waits' | 'down' | 'unsafe' | 'unknown'
}

/**
 * The steps in order. A server has been restarted if it was started since the plan began; of the
 * others the first that may be restarted safely is next, the leader after it has handed over.
 */
export function planOf(
  advice: readonly Advice[],
  startedMs: ReadonlyMap<string, number | undefined>,
  beganMs: number,
): readonly Step[] {
  const isDone = ({ id, verdict }: Advice): boolean =>
    verdict !== 'down' && (startedMs.get(id) ?? 0) > beganMs
  const isLast = advice.filter((each) => !isDone(each)).length === 1
  let hasNext = false
  return advice.map((each): Step => {
    const { id, verdict, reason } = each
    if (isDone(each)) return { id, state: 'done', reason: 'Restarted, and it serves again' }
    if (verdict === 'down' || verdict === 'unsafe') return { id, state: verdict, reason }
    if (startedMs.get(id) === undefined) {
      return { id, state: 'unknown', reason: 'It does not say since when it runs' }
    }
    if (verdict === 'last') {
      return isLast
        ? { id, state: 'handOver', reason: 'All others are restarted: hand leadership over first' }
        : { id, state: 'waits', reason: 'It leads: the others come first' }
    }
    if (hasNext) return { id, state: 'waits', reason: 'Only one at a time' }
    hasNext = true
    return { id, state: 'now', reason: 'The others are caught up and form a quorum without it' }
  })
}
