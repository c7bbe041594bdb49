/** Assigns replies to the requests of a step. */
import type { Received, StepResult } from './play/transcript.ts'
import type { Request, Step } from './program/program.ts'

/** The data that a session received in a step, except notifications and replies to pings. */
export function repliesIn(result: StepResult, session: number): Received[] {
  const received = result.received[session] ?? []
  return received.filter(({ xid }) => xid !== undefined && xid !== -1 && xid !== -2)
}

/** The requests of a step, in the order in which they are answered. */
export function requestsOf(step: Step): readonly Request[] {
  if (step.do === 'op') return [step.request]
  return step.do === 'burst' ? step.requests : []
}

/** The step without some of its requests; undefined if nothing is left of it. */
export function withoutRequests(
  step: Step,
  unwanted: (request: Request) => boolean,
): Step | undefined {
  if (step.do === 'op') return unwanted(step.request) ? undefined : step
  if (step.do !== 'burst') return step
  const requests = step.requests.filter((request) => !unwanted(request))
  return requests.length === 0 ? undefined : { ...step, requests }
}
