/**
 * In 3.8 a connection has one kind of watch per path: a later one replaces an earlier one. Such a
 * difference is invisible until something happens to the node, so its cause is in an earlier step.
 */
import { same } from '../difference.ts'
import { isNotification, type StepResult } from '../play/transcript.ts'
import type { Program, Request, Step, Value } from '../program/program.ts'
import { requestsOf, withoutRequests } from '../replies.ts'
import {
  answered,
  forget,
  withoutAnswered,
  withStep,
  type ReleaseDifference,
} from './release-difference.ts'
import type { Answered } from './release-difference.ts'

const marshallingError = -5
const noWatcher = -121
const outcomes = new Set<unknown>([0, marshallingError, noWatcher])

export const persistentWatchTypes: ReleaseDifference = {
  name: 'checkWatches and removeWatches know persistent watches as kinds of their own',
  since: '3.9.0',
  why: `3.8 refuses the types 4 and 5, and finds persistent watches under the types 1 and 2.`,
  level(step, older, newer) {
    const pairs = answered(step, older, newer).filter(
      (pair) => isAboutWatches(pair) && !removedIn(pair),
    )
    for (const pair of pairs) forget(pair, this.name)
    return pairs.length
  },
  without(program, at, older, newer) {
    const step = program.steps[at]
    if (step === undefined) return undefined
    const removals = answered(step, older, newer).filter(isAboutWatches)
    if (removals.length === 0) return undefined
    return withoutAnswered(program, at, removals)
  },
}

export const watchModesCoexist: ReleaseDifference = {
  name: 'watches of different kinds on one path live side by side',
  since: '3.9.0',
  why: `3.8 keeps one kind for each connection and path, so that a one-shot watch set after a
    persistent one makes it one-shot, and removing one kind removes the other.`,
  without(program, at, older, newer) {
    for (const { session, path } of differingNotifications(older, newer)) {
      const cause = mixedWatch(program, at, session, path)
      if (cause !== undefined) return withStep(program, cause.at, cause.step)
    }
    return undefined
  },
}

function isAboutWatches({ request, older, newer }: Answered): boolean {
  if (request.op !== 'checkWatches' && request.op !== 'removeWatches') return false
  if (request.type < 1 || request.type > 5 || older['err'] === newer['err']) return false
  return outcomes.has(older['err']) && outcomes.has(newer['err'])
}

/** Whether a watch now exists in only one of the two servers. */
function removedIn({ request, older, newer }: Answered): boolean {
  return request.op === 'removeWatches' && (older['err'] === 0 || newer['err'] === 0)
}

/** The notifications that only one side has sent. */
function differingNotifications(
  older: StepResult,
  newer: StepResult,
): { session: number; path: string }[] {
  const eventsOf = (result: StepResult, session: number) =>
    (result.received[session] ?? [])
      .filter(isNotification)
      .map(({ type, path }) => ({ type, path: typeof path === 'string' ? path : '' }))
  const sessions = new Set([...Object.keys(older.received), ...Object.keys(newer.received)])
  return [...sessions].map(Number).flatMap((session) => {
    const [a, b] = [eventsOf(older, session), eventsOf(newer, session)]
    const onlyIn = (list: typeof a, other: typeof a) =>
      list.filter((event) => !other.some((candidate) => same(candidate, event)))
    const missing = [...onlyIn(a, b), ...onlyIn(b, a)]
    // The same events in another number or order.
    const odd = missing.length > 0 || same(a, b) ? missing : [...a, ...b]
    return odd.map(({ path }) => ({ session, path }))
  })
}

/**
 * The last persistent watch of that session on the path or above, if there is another kind of watch
 * in the same place; with the step as it is without it.
 */
function mixedWatch(
  program: Program,
  at: number,
  session: number,
  path: string,
): { at: number; step: Step | undefined } | undefined {
  const before = program.steps
    .slice(0, at + 1)
    .map((step, index) => ({ step, index }))
    .filter(({ step }) => 'session' in step && step.session === session)
  const requests = before.flatMap(({ step }) => requestsOf(step))
  for (const { step, index } of before.toReversed()) {
    for (const request of requestsOf(step)) {
      const places = persistentPlaces(request).filter((place) => covers(place, path))
      if (!places.some(({ at: place }) => kindsAt(requests, place) > 1)) continue
      return { at: index, step: withoutRequests(step, (other) => other === request) }
    }
  }
  return undefined
}

interface Place {
  readonly at: Value
  readonly recursive: boolean
}

function persistentPlaces(request: Request): Place[] {
  if (request.op === 'addWatch') return [{ at: request.path, recursive: request.mode === 1 }]
  if (request.op !== 'setWatches2') return []
  return [
    ...request.persistent.map((at) => ({ at, recursive: false })),
    ...request.recursive.map((at) => ({ at, recursive: true })),
  ]
}

function covers({ at, recursive }: Place, path: string): boolean {
  if (typeof at !== 'string') return false
  return at === path || (recursive && path.startsWith(at === '/' ? at : `${at}/`))
}

/** How many kinds of watch those requests add or remove at a place. */
function kindsAt(requests: readonly Request[], place: Value): number {
  const kinds = new Set<string>()
  const isIn = (list: readonly string[]) => list.some((path) => path === place)
  for (const request of requests) {
    switch (request.op) {
      case 'exists':
      case 'getData':
      case 'getChildren':
      case 'getChildren2':
        if (Boolean(request.watch) && request.path === place) kinds.add('standard')
        break
      case 'addWatch':
        if (request.path === place) kinds.add(`mode ${request.mode}`)
        break
      case 'removeWatches':
        if (request.path === place) kinds.add('removal')
        break
      case 'setWatches':
      case 'setWatches2':
        if (isIn([...request.data, ...request.exist, ...request.child])) kinds.add('standard')
        if (request.op === 'setWatches') break
        if (isIn(request.persistent)) kinds.add('mode 0')
        if (isIn(request.recursive)) kinds.add('mode 1')
    }
  }
  return kinds.size
}
