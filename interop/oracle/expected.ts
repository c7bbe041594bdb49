/**
 * The deliberate differences between zabra and Apache.
 *
 * A divergence that matches an entry here is counted and named, and does not fail. The match is
 * exact: the reference does what Apache is known to do AND the candidate does what zabra has
 * decided; anything else on the same request still fails. The rest of the program is compared as
 * usual: if the difference leaves a trace in the tree or in the zxids, the program is played again
 * without the request that caused it.
 */
import { same } from './difference.ts'
import { repliesIn, requestsOf, withoutRequests } from './replies.ts'
import type { Received, StepResult } from './play/transcript.ts'
import type { Request, RequestName, Step } from './program/program.ts'
import { withoutUsage } from './usage.ts'

export interface Expected {
  readonly name: string
  /** The behavior of Apache and of zabra, and the reason. */
  readonly why: string
  /** There is no step for the remaining tree. */
  matches(step: Step | undefined, reference: StepResult, candidate: StepResult): boolean
  /**
   * The step without its cause; undefined if nothing is left of it. Absent if both servers are in
   * the same state afterwards, so that the comparison simply continues.
   */
  without?(step: Step): Step | undefined
}

const badArguments = -8
const unimplemented = -6

export const expectedDivergences: readonly Expected[] = [
  {
    name: 'a wrong password leaves the old connection alone',
    why: `Apache closes a session's connection when anybody presents its id, before looking at the
      password, so a stranger can disconnect any client. zabra looks at the password first.`,
    matches(step, reference, candidate) {
      if (step?.do !== 'connect' || step.how !== 'badpw') return false
      const list = candidate.received[step.session] ?? []
      const rest = list.filter((received) => received['oldStillOpen'] !== true)
      if (rest.length !== list.length - 1 || !isRefused(rest)) return false
      const received = { ...candidate.received, [step.session]: rest }
      return same(reference, { ...candidate, received })
    },
  },
  {
    name: 'deleteContainer from a client is refused',
    why: `Apache 3.9 performs it for any client and without looking at ACLs, so anybody can delete
      any empty node. zabra answers BadArguments, as Apache 3.8 does.`,
    matches: (step, reference, candidate) =>
      someReplyDiffers(step, reference, candidate, 'deleteContainer', (_, ours) => {
        return ours['err'] === badArguments
      }),
    without: (step) => withoutRequests(step, (request) => request.op === 'deleteContainer'),
  },
  {
    name: 'createSession from a client is an unknown operation',
    why: `Apache takes the internal operation -10 from a client and answers it with a
      ConnectResponse in place of a reply. zabra answers Unimplemented and closes.`,
    matches: (step, reference, candidate) =>
      someReplyDiffers(step, reference, candidate, 'createSession', (_, ours) => {
        return ours['err'] === unimplemented && ours['zxid'] === -1
      }),
    without: (step) => withoutRequests(step, (request) => request.op === 'createSession'),
  },
  {
    name: 'createTTL with flags of another mode and a negative ttl is refused',
    why: `Apache logs a transaction that it cannot apply: the server ends, or answers nothing.
      zabra answers BadArguments, as both do for the same flags with a ttl of 0 or more.`,
    matches: (step, reference, candidate) =>
      someReplyDiffers(step, reference, candidate, 'createTTL', (request, ours) => {
        return isImpossibleTtl(request) && ours['err'] === badArguments
      }),
    without: (step) => withoutRequests(step, isImpossibleTtl),
  },
  {
    name: 'a quota on the root is an ordinary node',
    why: `Creating /zookeeper/quota/zookeeper_limits ends Apache, and again whenever it replays its
      log. zabra creates the node, and no quota with it.`,
    matches: (step, reference, candidate) =>
      someReplyDiffers(step, reference, candidate, 'create', (request, ours) => {
        return isRootQuota(request) && ours['err'] === 0
      }),
    without: (step) => withoutRequests(step, isRootQuota),
  },
  {
    name: 'setWatches tells nothing about a node that the client may not read',
    why: `Apache tells a client that restores its watches which nodes have changed, without looking at
      their ACLs, as it does look while the client is connected. zabra uses the watch up silently.
      What the ACLs are is not known here; the server's own tests hold it to them.`,
    matches(step, reference, candidate) {
      if (step?.do !== 'op' && step?.do !== 'burst') return false
      if (!requestsOf(step).some(isWatchRestore)) return false
      const theirs = reference.received[step.session] ?? []
      const ours = candidate.received[step.session] ?? []
      const isKept = isSubsequence(ours, theirs, isCatchUp)
      const received = { ...candidate.received, [step.session]: theirs }
      return ours.length < theirs.length && isKept && same(reference, { ...candidate, received })
    },
  },
  {
    name: 'a sync says the path again as it was sent',
    why: `Only sync takes paths beyond the first 65536 characters of Unicode. Apache writes such a
      character as two of three bytes each, which is no UTF-8: its own clients cannot read it.
      zabra answers with what was sent.`,
    matches: (step, reference, candidate) =>
      someReplyDiffers(step, reference, candidate, 'sync', (request, ours) => {
        const path = farPath(request)
        return path !== undefined && ours['err'] === 0 && ours['path'] === path
      }),
    without: (step) => withoutRequests(step, (request) => farPath(request) !== undefined),
  },
  {
    name: 'the use of a quota follows from the tree',
    why: `Apache counts step by step, only where there are limits, from whatever text a client left, and
      anew when it loads a snapshot: its own servers differ after a restart. zabra shows what is there.`,
    matches: (step, reference, candidate) =>
      same(withoutUsage(step, reference, false), withoutUsage(step, candidate, true)),
  },
]

/** The entry that explains why two results of a step differ. */
export function explain(
  step: Step | undefined,
  reference: StepResult | undefined,
  candidate: StepResult | undefined,
): Expected | undefined {
  if (reference === undefined || candidate === undefined) return undefined
  return expectedDivergences.find((entry) => entry.matches(step, reference, candidate))
}

const isWatchRestore = ({ op }: Request): boolean => op === 'setWatches' || op === 'setWatches2'

const nodeDeleted = 2

/** The event of an existing node, delivered after a reconnect. */
function isCatchUp({ xid, zxid, type }: Received): boolean {
  return xid === -1 && zxid === -1 && type !== nodeDeleted
}

/** Whether `part` is `whole` without some of the elements that may be missing. */
function isSubsequence(
  part: readonly Received[],
  whole: readonly Received[],
  mayMiss: (received: Received) => boolean,
): boolean {
  let at = 0
  for (const each of whole) {
    if (at < part.length && same(each, part[at])) at++
    else if (!mayMiss(each)) return false
  }
  return at === part.length
}

/** The path of a sync that contains a character beyond U+FFFF; otherwise undefined. */
function farPath(request: Request): string | undefined {
  if (request.op !== 'sync' || request.path === null) return undefined
  const { path } = request
  const text = typeof path === 'object' && 'hex' in path ? fromHex(path.hex) : path
  return typeof text === 'string' && /[\u{10000}-\u{10ffff}]/u.test(text) ? text : undefined
}

const fromHex = (hex: string): string => Buffer.from(hex, 'hex').toString()

function isImpossibleTtl(request: Request): boolean {
  if (request.op !== 'createTTL') return false
  return BigInt(request.ttl) < 0n && request.flags >= 0 && request.flags <= 4
}

function isRootQuota(request: Request): boolean {
  if (request.op !== 'create' || typeof request.path !== 'string') return false
  return /^\/zookeeper\/quota\/zookeeper_limits$/.test(request.path)
}

function isRefused(received: readonly Received[]): boolean {
  return received.some(({ connected }) => {
    const isAnswer = typeof connected === 'object' && connected !== null && 'session' in connected
    return isAnswer && connected.session === 0
  })
}

/**
 * Whether the first differing reply answers a request of that kind, as zabra intends. Later
 * differences in the same step may be consequences; they are compared when the program is played
 * again without the request.
 */
function someReplyDiffers(
  step: Step | undefined,
  reference: StepResult,
  candidate: StepResult,
  op: RequestName,
  isOurs: (request: Request, reply: Received) => boolean,
): boolean {
  if (step?.do !== 'op' && step?.do !== 'burst') return false
  const requests = requestsOf(step)
  const theirs = repliesIn(reference, step.session)
  const ours = repliesIn(candidate, step.session)
  for (const [index, request] of requests.entries()) {
    const reply = ours[index]
    if (same(theirs[index], reply)) continue
    return request.op === op && reply !== undefined && isOurs(request, reply)
  }
  return false
}
