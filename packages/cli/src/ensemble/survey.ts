import type { ConnectionSettings } from '../connection/settings.ts'
import { tlsAdvice } from '../connection/tls-advice.ts'
import { elsewhere } from '../framework/describe-error.ts'
import { askOptions } from './ask-options.ts'
import { namedMembers, readMembers, type Members } from './members.ts'
import { askMembers, type Answered } from './server-status.ts'

/** The state of all members, as they answered at about the same time. */
export interface Survey {
  readonly answers: readonly Answered[]
  readonly version: string | undefined
  /** The newest zxid of all. */
  readonly newest: bigint
  /** How many voters must agree. */
  readonly quorum: number
  readonly voters: number
  readonly votersUp: number
  readonly leaders: number
  /** Why the members are those of the connection string only. */
  readonly memberProblem: string | undefined
  /** What to try if no member answers; undefined if one does. */
  readonly advice: string | undefined
}

/**
 * Asks every member of the ensemble. Without a server that serves, the servers of the connection
 * string stand for the members.
 */
export async function survey(settings: ConnectionSettings, signal: AbortSignal): Promise<Survey> {
  let found: Members
  let memberProblem: string | undefined
  let tlsHint: string | undefined
  try {
    found = await readMembers(settings, signal)
  } catch (error) {
    signal.throwIfAborted()
    memberProblem = (error as Error).message
    tlsHint = tlsAdvice((error as Error).cause)
    found = { members: namedMembers(settings), version: undefined, text: '' }
  }
  const answers = await askMembers(found.members, await askOptions(settings, signal))
  const voters = answers.filter(({ member, status }) =>
    member.role === undefined ? status?.mode !== 'observer' : member.role === 'participant',
  )
  return {
    answers,
    version: found.version,
    newest: answers.reduce((most, { status }) => max(most, status?.zxid ?? 0n), 0n),
    voters: voters.length,
    quorum: Math.floor(voters.length / 2) + 1,
    votersUp: voters.filter(({ status }) => status !== undefined).length,
    leaders: answers.filter(({ status }) => leads(status?.mode)).length,
    memberProblem,
    advice: answers.some(({ status }) => status !== undefined) ? undefined : (tlsHint ?? elsewhere),
  }
}

export function leads(mode: string | undefined): boolean {
  return mode === 'leader' || mode === 'standalone'
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
