/**
 * Checks linearizability by search: is there an order of all operations, each at a moment between
 * its call and its answer, in which the model gives the answers that clients got? (The algorithm of
 * Wing and Gong, with Lowe's memory of visited configurations.)
 *
 * It does not trust what servers say about order: zxids and times are left out of the answers, and
 * only hint where to search first. An operation without an answer may have taken effect at any time
 * after its call, or never. Trees that no multi connects are searched separately.
 *
 * The operations of one client happened in the order of its calls. Servers of an ensemble may
 * answer reads from the past: such a read may take effect before its call, but not before an
 * earlier answer to the same client, and never after its own answer.
 */
import {
  isSameResult,
  isWrite,
  show,
  type Request,
  type Result,
  type StatView,
} from '../client/request.ts'
import type { History, Operation } from '../history/history.ts'
import { endSession, ephemeralsOf, execute } from '../model/model.ts'
import { emptyTree, type ModelNode } from '../model/state.ts'
import type { Tree } from '../model/tree.ts'
import { reclaimedRoot } from '../workload/program.ts'
import { hash } from '../world/random.ts'
import type { Report } from './report.ts'
import type { Timeline } from './timeline.ts'

/** The search of one tree stops after this many configurations. */
const configurationsMax = 50_000

interface Candidate {
  /** It took effect after this moment. */
  readonly called: number
  /** Infinity if there was no answer. */
  readonly returned: number
  readonly expected: Result | undefined
  readonly hint: number
  /** The operation that must come before it, because the same client called it first. */
  after: Candidate | undefined
  /** Its index among all operations. */
  index: number
  readonly label: () => string
  readonly apply: (tree: Tree) => { tree: Tree; result: Result }
}

export interface Search {
  readonly configurations: number
  readonly undecided: number
  readonly partitions: number
}

/** `isFromThePast`: reads may return older state, as on the servers of an ensemble. */
export function checkLinearizable(
  history: History,
  timeline: Timeline,
  isFromThePast: boolean,
  report: Report,
): Search {
  const search = { configurations: 0, undecided: 0, partitions: 0 }
  const hints = new Map<string, number>()
  for (const [place, { session, cxid, isTooLate }] of timeline.moments.entries()) {
    if (!isTooLate) hints.set(`${session}#${cxid}`, place)
  }
  for (const group of groups(history)) {
    search.partitions++
    const candidates = candidatesOf({ history, isFromThePast }, timeline, group, hints)
    const outcome = findOrder(candidates)
    search.configurations += outcome.configurations
    if (outcome.verdict === 'undecided') search.undecided++
    if (outcome.verdict === 'impossible') {
      const trees = [...group].join()
      report(`no order of the operations on ${trees} explains the answers: ${outcome.stuckAt}`)
    }
  }
  return search
}

// --- partitions ----------------------------------------------------------------------------------

/** Trees by their top node; trees that one operation touches form one group. */
function groups(history: History): Set<string>[] {
  const joined = new Map<string, Set<string>>()
  for (const { request } of history.operations) {
    const roots = new Set(pathsOf(request).map(rootOf))
    const all = new Set(roots)
    for (const root of roots) for (const other of joined.get(root) ?? []) all.add(other)
    for (const root of all) joined.set(root, all)
  }
  return [...new Set(joined.values())].filter(
    (group) => !group.has(reclaimedRoot) && group.size > 0,
  )
}

function pathsOf(request: Request): string[] {
  switch (request.op) {
    case 'multi':
    case 'multiRead':
      return request.parts.map(({ path }) => path)
    case 'create':
    case 'delete':
    case 'setData':
    case 'setACL':
    case 'exists':
    case 'getData':
    case 'getChildren':
    case 'getChildren2':
    case 'getACL':
    case 'getAllChildrenNumber':
      return [request.path]
    default:
      return []
  }
}

function rootOf(path: string): string {
  const end = path.indexOf('/', 1)
  return end < 0 ? path : path.slice(0, end)
}

function candidatesOf(
  { history, isFromThePast }: { history: History; isFromThePast: boolean },
  timeline: Timeline,
  group: ReadonlySet<string>,
  hints: ReadonlyMap<string, number>,
): Candidate[] {
  const candidates: Candidate[] = []
  const owners = new Set<bigint>()
  /** The last answered operation of each client, in the order of its calls. */
  const last = new Map<string, Candidate>()
  for (const operation of history.operations) {
    const { request, result, session, client } = operation
    const [path] = pathsOf(request)
    if (path === undefined || !group.has(rootOf(path)) || result?.err === -1) continue
    const isReading = !isWrite(request)
    if (isReading && result === undefined) continue
    const before = last.get(client)
    const called = isReading && isFromThePast ? (before?.called ?? -1) : operation.called
    const candidate = asCandidate(operation, called, before, timeline, hints)
    if (result !== undefined) last.set(client, candidate)
    candidates.push(candidate)
    if (mayOwn(request)) owners.add(session)
  }
  for (const session of owners) {
    const record = history.sessions.get(session)
    if (record === undefined) continue
    // An error that a session is gone does not mean that its end is complete; an answer does.
    const answered = record.closing?.returned
    candidates.push({
      called: record.created,
      returned: answered ?? Infinity,
      expected: answered === undefined ? undefined : { err: 0 },
      hint: timeline.sessions.get(session)?.to ?? Number.MAX_VALUE,
      after: undefined,
      index: 0,
      label: () => `the end of session ${session}`,
      apply: (tree) => endSession(tree, ephemeralsOf(tree, session), 0n),
    })
  }
  candidates.sort((a, b) => a.called - b.called)
  for (const [i, candidate] of candidates.entries()) candidate.index = i
  return candidates
}

function asCandidate(
  operation: Operation,
  called: number,
  after: Candidate | undefined,
  timeline: Timeline,
  hints: ReadonlyMap<string, number>,
): Candidate {
  const { request, session, isLocal, identities, returned, result, zxid, xid, client } = operation
  return {
    called,
    returned: returned ?? Infinity,
    expected: result,
    hint:
      hints.get(`${session}#${xid}`) ??
      (zxid === undefined ? Number.MAX_VALUE : (timeline.placeOf(zxid) ?? 0) + 0.5),
    after,
    index: 0,
    label: () =>
      `${client} #${xid} ${show(request)} -> ${result === undefined ? '?' : show(blurred(result))}`,
    apply: (tree) => execute(tree, request, { session, isLocal, identities, zxid: 0n, time: 0n }),
  }
}

function mayOwn(request: Request): boolean {
  const parts = request.op === 'multi' ? request.parts : [request]
  return parts.some((part) => part.op === 'create' && (part.flags === 1 || part.flags === 3))
}

/** For display: without zxids and times, which only servers know. */
function blurred(result: Result): object {
  const { stat, parts, ...rest } = result
  return {
    ...rest,
    ...(parts === undefined ? {} : { parts: parts.map(blurred) }),
    ...(stat === undefined ? {} : { stat: statShown(stat) }),
  }
}

function statShown({ version, cversion, aversion, numChildren, ephemeralOwner }: StatView): object {
  return { version, cversion, aversion, numChildren, ephemeralOwner }
}

// --- search --------------------------------------------------------------------------------------

interface Configuration {
  readonly tree: Tree
  /** All operations before this index are done. */
  readonly first: number
  /** The operations that are done, by index. */
  readonly done: Uint8Array
  readonly doneKey: bigint
  /** How many operations with an answer are done. */
  readonly answered: number
  readonly choices: number[]
}

function findOrder(candidates: readonly Candidate[]): {
  verdict: 'possible' | 'impossible' | 'undecided'
  configurations: number
  stuckAt: string
} {
  const must = candidates.filter(({ expected }) => expected !== undefined).length
  /** Configurations that lead nowhere. */
  const tried = new Set<string>()
  let configurations = 0
  let furthest: Configuration | undefined
  const noneDone = new Uint8Array(candidates.length)
  const beginning = { tree: emptyTree, first: 0, done: noneDone, doneKey: 0n, answered: 0 }
  const stack = [withChoices(candidates, beginning, 0)]
  for (;;) {
    const top = stack.at(-1)
    if (top === undefined) {
      const choices = furthest === undefined ? [] : choicesOf(candidates, furthest)
      const stuckAt = choices.map((i) => candidates[i]!.label()).join(' | ')
      return { verdict: 'impossible', configurations, stuckAt }
    }
    if (top.answered === must) return { verdict: 'possible', configurations, stuckAt: '' }
    if (top.answered > (furthest?.answered ?? -1)) furthest = top
    const choice = top.choices.shift()
    if (choice === undefined) {
      tried.add(keyOf(top))
      stack.pop()
      continue
    }
    const { apply, expected, hint } = candidates[choice]!
    const { tree, result } = apply(top.tree)
    if (expected !== undefined && !isSameResult(result, expected, true)) continue
    // An operation without an answer and without an effect may be left out.
    if (expected === undefined && tree === top.tree) continue
    const done = top.done.slice()
    done[choice] = 1
    let { first } = top
    while (done[first] === 1) first++
    const answered = top.answered + (expected === undefined ? 0 : 1)
    const doneKey = top.doneKey ^ keyOfIndex(choice)
    const next = { tree, first, done, doneKey, answered }
    if (tried.size > 0 && tried.has(keyOf(next))) continue
    if (++configurations > configurationsMax) {
      return { verdict: 'undecided', configurations, stuckAt: '' }
    }
    stack.push(withChoices(candidates, next, hint))
  }
}

function withChoices(
  candidates: readonly Candidate[],
  configuration: Omit<Configuration, 'choices'>,
  reached: number,
): Configuration {
  // An operation without an answer that the hint does not place probably never took effect.
  const rank = (i: number): number => {
    const { hint, expected } = candidates[i]!
    return expected === undefined && hint < reached ? Number.MAX_VALUE : hint
  }
  const choices = choicesOf(candidates, configuration)
  choices.sort((a, b) => rank(a) - rank(b) || a - b)
  return { ...configuration, choices }
}

/** The possible next operations: those called before the earliest answer that is still due. */
function choicesOf(
  candidates: readonly Candidate[],
  { first, done }: Omit<Configuration, 'choices'>,
): number[] {
  const choices: number[] = []
  let deadline = Infinity
  // In the order of their calls: after the first one that is too late, all are.
  for (let i = first; i < candidates.length && candidates[i]!.called < deadline; i++) {
    if (done[i] === 1) continue
    const { returned, after } = candidates[i]!
    if (returned < deadline) deadline = returned
    if (after === undefined || done[after.index] === 1) choices.push(i)
  }
  return choices
}

function keyOf({ doneKey, tree }: Omit<Configuration, 'choices'>): string {
  return `${doneKey}|${treeKey(tree)}`
}

function keyOfIndex(index: number): bigint {
  return (BigInt(hash(`done ${index}`)) << 32n) | BigInt(hash(`${index} done`))
}

const keysOfParts = new WeakMap<object, bigint>()
const keysOfNodes = new WeakMap<ModelNode, bigint>()

/** Practically unique for trees that differ in more than zxids and times. */
function treeKey(tree: Tree): bigint {
  let key = 0n
  for (const part of tree.parts) {
    let ofPart = keysOfParts.get(part)
    if (ofPart === undefined) {
      ofPart = 0n
      for (const [path, node] of part) ofPart ^= nodeKey(path, node)
      keysOfParts.set(part, ofPart)
    }
    key ^= ofPart
  }
  return key
}

function nodeKey(path: string, node: ModelNode): bigint {
  let key = keysOfNodes.get(node)
  if (key === undefined) {
    const { data, version, aversion, creates, owner, acl } = node
    const text = `${path}=${data},${version},${aversion},${creates},${owner},${acl.length}`
    key = (BigInt(hash(text)) << 32n) | BigInt(hash(`!${text}`))
    keysOfNodes.set(node, key)
  }
  return key
}
