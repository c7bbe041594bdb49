/** The problems of an ensemble, and how many more servers it can lose. */
import { countOf, msText } from '../format.ts'

/** More transactions behind the leader than this stand out. */
const lagShown = 1000
/** A sync of the log that takes longer, on average, stands out. */
const syncMsShown = 50
interface Facts {
  readonly id: string
  readonly state: 'serving' | 'notServing' | 'unreachable' | 'unknown'
  readonly lag: number | null
  readonly syncMs: number | null
}
interface Ensemble {
  readonly leader: string | null
  readonly failuresLeft: number | null
  readonly members: readonly Facts[]
}

export const isLagging = ({ lag }: Pick<Facts, 'lag'>): boolean => lag !== null && lag > lagShown
export const isSlow = ({ syncMs }: Pick<Facts, 'syncMs'>): boolean =>
  syncMs !== null && syncMs > syncMsShown

export interface Health {
  /** One sentence each, the worst first. */
  readonly problems: readonly string[]
  /** What happens when a server fails. */
  readonly outlook: string
}

export function healthOf({ leader, failuresLeft, members }: Ensemble): Health {
  const problems = [
    ...members
      .filter(({ state }) => state === 'unreachable')
      .map(({ id }) => `Server ${id} does not answer.`),
    ...members
      .filter(({ state }) => state === 'notServing')
      .map(({ id }) => `Server ${id} does not serve clients.`),
    ...members
      .filter(isLagging)
      .map(({ id, lag }) => `Server ${id} is ${countOf(lag!, 'transaction')} behind the leader.`),
    ...members
      .filter(isSlow)
      .map(({ id, syncMs }) => `Server ${id} needs ${msText(syncMs!)} to sync its log.`),
  ]
  const unknown = members.filter(({ state }) => state === 'unknown')
  if (leader !== null && unknown.length > 0) {
    const names = unknown.map(({ id }) => `server ${id}`).join(', ')
    return { problems, outlook: `The configuration has no client port of ${names} to ask.` }
  }
  if (leader === null || failuresLeft === null) {
    return { problems, outlook: 'Nobody can write: there is no quorum with a leader.' }
  }
  const all = problems.length === 0 ? 'All servers serve and are caught up. ' : ''
  return { problems, outlook: all + outlookOf(failuresLeft) }
}

function outlookOf(count: number): string {
  if (count === 0) return 'If another voter fails, nobody can write.'
  const most = ['one of them fails', 'two of them fail'][count - 1] ?? 'three of them fail'
  return `If ${most}, the others continue.`
}
