/**
 * Decides which server of an ensemble may be restarted next. A restart is safe if the others form a
 * quorum without it and all of them are up to date: then writes continue, and no acknowledged write
 * exists on one server alone.
 */
export interface RestartMember {
  readonly id: string
  readonly votes: boolean
  readonly isLeader: boolean
  readonly isServing: boolean
  /** Transactions behind the leader; null if unknown. */
  readonly lag: number | null
}

export interface RestartAdvice {
  readonly id: string
  /** `last`: the leader, which should hand over leadership first. */
  readonly verdict: 'next' | 'later' | 'last' | 'down' | 'unsafe'
  readonly reason: string
}

/** A server that is further behind than this is not up to date. */
const lagMax = 1000

/** Advice for each server, in the order of restarts: the leader last. */
export function restartAdvice(
  members: readonly RestartMember[],
  isQuorum: (ids: readonly string[]) => boolean,
): RestartAdvice[] {
  const isReady = ({ isServing, lag }: RestartMember): boolean =>
    isServing && lag !== null && lag <= lagMax
  const laggards = members.filter((each) => !isReady(each))
  const order = members.toSorted((a, b) => rank(a) - rank(b) || Number(a.id) - Number(b.id))
  let hasNext = false
  return order.map((member): RestartAdvice => {
    const { id, isServing, isLeader, votes } = member
    if (!isServing)
      return { id, verdict: 'down', reason: 'It does not serve: wait until it is back' }
    const others = laggards.filter((each) => each.id !== id)
    if (others.length > 0) {
      const names = others.map((each) => `server ${each.id}`).join(', ')
      return { id, verdict: 'unsafe', reason: `Wait for ${names}: not serving, or not caught up` }
    }
    const left = members.filter((each) => each.id !== id && each.votes).map((each) => each.id)
    if (votes && !isQuorum(left)) {
      return { id, verdict: 'unsafe', reason: 'Without it there is no quorum: writes would stop' }
    }
    if (isLeader && members.some((each) => each.id !== id && each.votes)) {
      return {
        id,
        verdict: 'last',
        reason: 'It leads: restart the others first, then hand leadership over',
      }
    }
    const verdict = hasNext ? 'later' : 'next'
    hasNext = true
    const reason =
      verdict === 'next'
        ? 'The others are caught up and form a quorum without it'
        : 'Safe by itself, but only one at a time'
    return { id, verdict, reason }
  })
}

const rank = ({ votes, isLeader }: RestartMember): number => (isLeader ? 2 : votes ? 1 : 0)
