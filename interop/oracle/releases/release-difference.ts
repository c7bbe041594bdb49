import type { Received, StepResult } from '../play/transcript.ts'
import type { Program, Request, Step } from '../program/program.ts'
import { repliesIn, requestsOf, withoutRequests } from '../replies.ts'

/** Something that Apache 3.8 does in one way, and Apache 3.9 and zabra in another. */
export interface ReleaseDifference {
  readonly name: string
  /** The first releases that behave like 3.9. */
  readonly since: string
  /** The behavior of 3.8, and that of 3.9. */
  readonly why: string
  /**
   * Removes the difference from both results of a step, if the servers are in the same state
   * afterwards; returns how often it occurred.
   */
  level?(step: Step, older: StepResult, newer: StepResult): number
  /**
   * The program without the cause of this difference, if the difference explains why the results of
   * the step differ.
   */
  without?(program: Program, at: number, older: StepResult, newer: StepResult): Program | undefined
}

export interface Answered {
  readonly request: Request
  readonly older: Received
  readonly newer: Received
}

/** The requests of a step that both sides have answered. */
export function answered(step: Step, older: StepResult, newer: StepResult): Answered[] {
  if (step.do !== 'op' && step.do !== 'burst') return []
  const olderReplies = repliesIn(older, step.session)
  const newerReplies = repliesIn(newer, step.session)
  return requestsOf(step).flatMap((request, index) => {
    const [a, b] = [olderReplies[index], newerReplies[index]]
    return a === undefined || b === undefined ? [] : [{ request, older: a, newer: b }]
  })
}

/** Leaves only the zxids of the headers, which are ranked later, of two replies to one request. */
export function forget({ older, newer }: Answered, name: string): void {
  for (const reply of [older, newer]) {
    for (const field of Object.keys(reply)) {
      if (field !== 'xid' && field !== 'zxid') delete reply[field]
    }
    reply['differs'] = name
  }
}

/** The program without these requests of one of its steps. */
export function withoutAnswered(program: Program, at: number, pairs: readonly Answered[]): Program {
  const unwanted = new Set(pairs.map(({ request }) => request))
  return withStep(
    program,
    at,
    withoutRequests(program.steps[at]!, (request) => unwanted.has(request)),
  )
}

/** The program without one of its steps, or with a replacement. */
export function withStep(program: Program, at: number, step: Step | undefined): Program {
  const steps = program.steps.toSpliced(at, 1, ...(step === undefined ? [] : [step]))
  return { ...program, steps }
}
