/**
 * Linearizability, by search: is there an order of all operations, each at some moment between
 * its call and its answer, in which the model gives the answers that clients got? (Wing and Gong,
 * with Lowe's memory of configurations seen.)
 *
 * Nothing a server says about order is believed here: zxids and times are left out of the answers,
 * and serve only as a hint where to look first. Operations without an answer may have happened at
 * any time after their call, or never. Trees that no multi joins are searched one by one.
 */
import { isWrite, show, type Request, type Result } from '../client/request.ts'
import type { History, Operation } from '../history/history.ts'
import { endSession, ephemeralsOf, execute } from '../model/model.ts'
import { emptyTree, type Tree } from '../model/state.ts'
import { reclaimedRoot } from '../workload/program.ts'
import type { Report } from './report.ts'
import type { Timeline } from './timeline.ts'

/** Configurations looked at before the search of one tree is given up. */
const configurationsMax = 5_000

interface Candidate {
  readonly called: number
  /** Infinity where no answer came. */
  readonly returned: number
  readonly expected: string | undefined
  readonly hint: number
  readonly label: string
  readonly apply: (tree: Tree) => { tree: Tree; result: Result }
}

export interface Search {
  readonly configurations: number
  readonly undecided: number
  readonly partitions: number
}

/** `ofWhat`: servers of an ensemble may answer reads from the past, so only writes count there. */
export function checkLinearizable(
  history: History,
  timeline: Timeline,
  ofWhat: 'everything' | 'writes',
  report: Report,
): Search {
  const search = { configurations: 0, undecided: 0, partitions: 0 }
  const hints = new Map<string, number>()
  for (const [place, { session, cxid }] of timeline.moments.entries()) {
    hints.set(`${session}#${cxid}`, place)
  }
  for (const group of groups(history)) {
    search.partitions++
    const operations =
      ofWhat === 'writes'
        ? history.operations.filter(({ request }) => isWrite(request))
        : history.operations
    const candidates = candidatesOf({ history, operations }, timeline, group, hints)
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

/** Trees by their top node; those that one operation touches belong together. */
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
  { history, operations }: { history: History; operations: readonly Operation[] },
  timeline: Timeline,
  group: ReadonlySet<string>,
  hints: ReadonlyMap<string, number>,
): Candidate[] {
  const candidates: Candidate[] = []
  const owners = new Set<bigint>()
  for (const operation of operations) {
    const paths = pathsOf(operation.request)
    if (paths.length === 0 || !group.has(rootOf(paths[0]!))) continue
    const { result, session } = operation
    if (result?.err === -1) continue
    candidates.push(asCandidate(operation, timeline, hints))
    if (mayOwn(operation.request)) owners.add(session)
  }
  for (const session of owners) {
    const record = history.sessions.get(session)
    if (record === undefined) continue
    // Being told that a session is gone does not mean that its end is complete; an answer does.
    const answered = record.closing?.returned
    candidates.push({
      called: record.created,
      returned: answered ?? Infinity,
      expected: answered === undefined ? undefined : '{"err":0}',
      hint: timeline.sessions.get(session)?.to ?? Number.MAX_VALUE,
      label: `the end of session ${session}`,
      apply: (tree) => endSession(tree, ephemeralsOf(tree, session), 0n),
    })
  }
  return candidates.toSorted((a, b) => a.called - b.called)
}

function asCandidate(
  operation: Operation,
  timeline: Timeline,
  hints: ReadonlyMap<string, number>,
): Candidate {
  const { request, session, identities, called, returned, result, zxid, xid, client } = operation
  return {
    called,
    returned: returned ?? Infinity,
    expected: result === undefined ? undefined : show(blurred(result)),
    hint:
      hints.get(`${session}#${xid}`) ??
      (zxid === undefined ? Number.MAX_VALUE : (timeline.placeOf(zxid) ?? 0) + 0.5),
    label: `${client} #${xid} ${show(request)} -> ${result === undefined ? '?' : show(blurred(result))}`,
    apply: (tree) => execute(tree, request, { session, identities, zxid: 0n, time: 0n }),
  }
}

function mayOwn(request: Request): boolean {
  const parts = request.op === 'multi' ? request.parts : [request]
  return parts.some((part) => part.op === 'create' && (part.flags === 1 || part.flags === 3))
}

/** Without what only the server knows: zxids and times. */
function blurred(result: Result): Result {
  const { stat, parts, ...rest } = result
  return {
    ...rest,
    ...(parts === undefined ? {} : { parts: parts.map(blurred) }),
    ...(stat === undefined
      ? {}
      : { stat: { ...stat, czxid: 0n, mzxid: 0n, pzxid: 0n, ctime: 0n, mtime: 0n } }),
  }
}

// --- search --------------------------------------------------------------------------------------

interface Configuration {
  readonly tree: Tree
  /** Everything before this index is done. */
  readonly first: number
  /** What else is done, in order. */
  readonly beyond: readonly number[]
  /** How many of those with an answer are done. */
  readonly answered: number
  readonly choices: number[]
}

function findOrder(candidates: readonly Candidate[]): {
  verdict: 'possible' | 'impossible' | 'undecided'
  configurations: number
  stuckAt: string
} {
  const must = candidates.filter(({ expected }) => expected !== undefined).length
  const seen = new Set<string>()
  const stack: Configuration[] = [
    configuration(candidates, emptyTree, [], { first: 0, answered: 0, hint: 0 }),
  ]
  let furthest = -1
  let stuckAt = ''
  for (;;) {
    const top = stack.at(-1)
    if (top === undefined) return { verdict: 'impossible', configurations: seen.size, stuckAt }
    if (top.answered === must) {
      return { verdict: 'possible', configurations: seen.size, stuckAt: '' }
    }
    if (top.answered > furthest) {
      furthest = top.answered
      stuckAt = top.choices.map((i) => candidates[i]!.label).join(' | ')
    }
    const choice = top.choices.shift()
    if (choice === undefined) {
      stack.pop()
      continue
    }
    const { apply, expected, hint } = candidates[choice]!
    const { tree, result } = apply(top.tree)
    if (expected !== undefined && show(blurred(result)) !== expected) continue
    // What changes nothing and nobody waits for need not have happened.
    if (expected === undefined && tree === top.tree) continue
    const answered = top.answered + (expected === undefined ? 0 : 1)
    const beyond = [...top.beyond, choice].toSorted((a, b) => a - b)
    const next = configuration(candidates, tree, beyond, { first: top.first, answered, hint })
    const id = keyOf(next)
    if (seen.has(id)) continue
    seen.add(id)
    if (seen.size > configurationsMax) {
      return { verdict: 'undecided', configurations: seen.size, stuckAt }
    }
    stack.push(next)
  }
}

function keyOf({ first, beyond, tree }: Configuration): string {
  return `${first}+${beyond.join()}|${treeKey(tree)}`
}

/** What may come next: whatever was called before the first answer that is still owed. */
function configuration(
  candidates: readonly Candidate[],
  tree: Tree,
  done: readonly number[],
  before: { readonly first: number; readonly answered: number; readonly hint: number },
): Configuration {
  const { answered, hint: reached } = before
  let { first } = before
  let passed = 0
  for (; done[passed] === first; passed++) first++
  const beyond = done.slice(passed)
  const choices: number[] = []
  let deadline = Infinity
  let nextDone = 0
  // In the order of their calls: once one is too late, so are all after it.
  for (let i = first; i < candidates.length && candidates[i]!.called < deadline; i++) {
    if (beyond[nextDone] === i) {
      nextDone++
    } else {
      deadline = Math.min(deadline, candidates[i]!.returned)
      choices.push(i)
    }
  }
  // What nobody waits for and is not where the hint says hardly happened at all.
  const rank = (i: number): number => {
    const { hint, expected } = candidates[i]!
    return expected === undefined && hint < reached ? Number.MAX_VALUE : hint
  }
  choices.sort((a, b) => rank(a) - rank(b) || a - b)
  return { tree, first, beyond, answered, choices }
}

const keys = new WeakMap<Tree, string>()

function treeKey(tree: Tree): string {
  let key = keys.get(tree)
  if (key === undefined) {
    key = [...tree]
      .map(([path, { data, version, aversion, creates, owner, acl }]) => {
        return `${path}=${data},${version},${aversion},${creates},${owner},${acl.length}`
      })
      .toSorted()
      .join(';')
    keys.set(tree, key)
  }
  return key
}
