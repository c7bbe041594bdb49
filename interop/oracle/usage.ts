/** The usage in stats nodes of quotas, which Apache and zabra count differently. */
import { repliesIn, requestsOf } from './replies.ts'
import type { Received, StepResult, Told } from './play/transcript.ts'
import type { Step } from './program/program.ts'

const statsNode = /^\/zookeeper\/quota\/.*\/zookeeper_stats$/
const count = /^count=-?\d+,bytes=-?\d+$/

/**
 * A result without the usage in stats nodes. The candidate's must be a valid count: anything else
 * stays, and differs.
 */
export function withoutUsage(
  step: Step | undefined,
  result: StepResult,
  mustBeCount: boolean,
): StepResult {
  const hidden = (reply: Received): Received => hide(reply, mustBeCount)
  const tree = result.tree?.map((entry) => {
    if (!Array.isArray(entry)) return entry
    const [path, ...replies] = entry as Told[]
    return isStats(path) ? [path, ...replies.map((reply) => hidden(reply as Received))] : entry
  })
  const received = { ...result.received }
  if (step !== undefined && 'session' in step) {
    const { session } = step
    const replies = repliesIn(result, session)
    const changed = new Map<Received, Received>()
    for (const [index, request] of requestsOf(step).entries()) {
      const reply = replies[index]
      if (reply === undefined || !('path' in request) || !isStats(request.path)) continue
      changed.set(reply, hidden(reply))
    }
    received[session] = (received[session] ?? []).map((reply) => changed.get(reply) ?? reply)
  }
  return { ...result, received, ...(tree === undefined ? {} : { tree }) }
}

const isStats = (path: unknown): boolean => typeof path === 'string' && statsNode.test(path)

function hide(reply: Received, mustBeCount: boolean): Received {
  const { data, stat } = reply
  if (mustBeCount && typeof data === 'string' && !count.test(data)) return reply
  const left: Received = { ...reply }
  if (data !== undefined) left['data'] = 'a count'
  if (typeof stat === 'object' && stat !== null && 'dataLength' in stat) {
    left['stat'] = { ...stat, dataLength: 0 }
  }
  return left
}
