/**
 * The differences between Apache 3.8.0 and 3.9, for a run with the older one as reference. Each is
 * narrow: the reference does what 3.8.0 is known to do AND the candidate does what 3.9 does;
 * anything else still fails. With `--candidate apache-3.9` the same list must explain all
 * differences between Apache's own two releases.
 */
import type { StepResult, Transcript } from '../play/transcript.ts'
import type { Program } from '../program/program.ts'
import { answered, withStep, type ReleaseDifference } from './release-difference.ts'
import { withoutRequests } from '../replies.ts'
import { existsWithoutRead } from './exists-acl.ts'
import { create2InMulti, flagsInMulti } from './multi-creates.ts'
import { nullAclInMulti, nullPathInMulti } from './multi-creates.ts'
import { notificationZxid } from './notification-zxid.ts'
import { spentZxids, undecodableWrites, withoutZxids } from './spent-zxids.ts'
import { persistentWatchTypes, watchModesCoexist } from './watch-modes.ts'

export type { ReleaseDifference } from './release-difference.ts'

/** The differences of 3.9 and zabra from 3.8.0. */
export const since38: readonly ReleaseDifference[] = [
  notificationZxid,
  undecodableWrites,
  create2InMulti,
  flagsInMulti,
  nullAclInMulti,
  nullPathInMulti,
  existsWithoutRead,
  persistentWatchTypes,
  watchModesCoexist,
]

const badArguments = -8

/** The differences of 3.9 from 3.8.0 that zabra does not have. */
export const since38InApache: readonly ReleaseDifference[] = [
  ...since38,
  {
    name: 'deleteContainer from a client is performed',
    since: '3.9.0',
    why: '3.8 refuses it with BadArguments, 3.9 performs it without looking at ACLs.',
    without(program, at, older, newer) {
      const step = program.steps[at]
      if (step === undefined) return undefined
      const found = answered(step, older, newer).some((pair) => {
        const [before, now] = [pair.older['err'], pair.newer['err']]
        return pair.request.op === 'deleteContainer' && before === badArguments && now !== before
      })
      if (!found) return undefined
      return withStep(
        program,
        at,
        withoutRequests(step, (request) => request.op === 'deleteContainer'),
      )
    },
  },
]

export interface Levelled {
  readonly older: Transcript
  readonly newer: Transcript
  /** The names of the removed differences, each as often as it occurred. */
  readonly seen: readonly string[]
}

/** Removes from two transcripts the release differences that leave no trace. */
export function level(
  differences: readonly ReleaseDifference[],
  program: Program,
  older: Transcript,
  newer: Transcript,
): Levelled {
  const seen: string[] = []
  const spent = differences.includes(undecodableWrites) ? spentZxids(program, older, newer) : []
  seen.push(...spent.map(() => undecodableWrites.name))
  for (const [at, step] of program.steps.entries()) {
    const [a, b] = [older[at], newer[at]]
    if (a === undefined || b === undefined) break
    for (const difference of differences) {
      const count = difference.level?.(step, a, b) ?? 0
      seen.push(...Array.from({ length: count }, () => difference.name))
    }
  }
  return { older: withoutZxids(older, spent), newer, seen }
}

/** The difference that explains a divergence at a step, and the program without its cause. */
export function explainByRelease(
  differences: readonly ReleaseDifference[],
  program: Program,
  at: number,
  older: StepResult | undefined,
  newer: StepResult | undefined,
): { readonly name: string; readonly rest: Program } | undefined {
  if (older === undefined || newer === undefined) return undefined
  for (const difference of differences) {
    const rest = difference.without?.(program, at, older, newer)
    if (rest !== undefined) return { name: difference.name, rest }
  }
  return undefined
}
