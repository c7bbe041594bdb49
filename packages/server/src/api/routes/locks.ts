import { hex } from '@zabra/core'
import {
  candidatesAmong,
  contenderId,
  deadlocksIn,
  groupMember,
  joinPath,
  lineKinds,
  lineOf,
  queueItemsAmong,
  waitsIn,
  type Candidate,
  type Line,
  type Standing,
  type Wait,
} from '@zabra/protocol'
import { Slices } from '../../base/slices.ts'
import { isRefused } from '../api-error.ts'
import { includes } from '../roles.ts'
import type { InternalClient } from '../internal-client.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
import { array, boolean, choice, integer, nullable, object, text } from '../schema.ts'
import { isoTime } from '../shapes.ts'
import { ephemeralsByParent } from '../survey.ts'
import { childrenOf, statOf } from '../tree.ts'
import { VisiblePaths } from '../visible-paths.ts'

const linesMax = 500
/**
 * The number of contenders of a line that are read, oldest first; the answer lists fewer of them.
 */
const readMax = 1000
const contendersMax = 200
const searchMsMax = 5_000

const waitSchema = object({ waiter: text, holder: text, path: text })

export const locks: readonly Route[] = [
  {
    method: 'GET',
    path: '/locks',
    summary:
      'Locks, elections, semaphores, queues and groups in the layouts of zabra, Curator and kazoo: who holds them, who waits, and who waits for whom',
    role: 'metadata',
    parameters: {
      path: { ...pathParameter, description: 'Search this znode and everything below it' },
    },
    answer: object({
      lines: array(
        object({
          path: text,
          kind: choice(...lineKinds),
          total: integer,
          hidden: integer,
          contenders: array(
            object({
              node: text,
              holds: boolean,
              mode: nullable(choice('read', 'write')),
              id: nullable(text),
              session: text,
              token: text,
              since: text,
              library: text,
            }),
            contendersMax,
          ),
        }),
        linesMax,
      ),
      waits: array(waitSchema),
      deadlocks: array(array(waitSchema)),
      isTruncated: boolean,
      unreadable: integer,
    }),
    errors: [404],
    handle: list,
  },
]

interface Found {
  readonly line: Line
  readonly total: number
  readonly hidden: number
}

async function list(call: Call): Promise<unknown> {
  const { client, view, query, role, signal, surveyor } = call
  const top = query.path()
  await client.call('exists', { path: top, watch: false })
  const isWanted = (path: string): boolean =>
    !path.startsWith('/zookeeper/') && (top === '/' || path === top || path.startsWith(`${top}/`))
  const mayRead = includes(role, 'read')
  const untilMs = performance.now() + searchMsMax
  const slices = new Slices(signal)
  const { queues } = await surveyor.survey()
  const ephemerals = await ephemeralsByParent(view)
  const visible = new VisiblePaths(call)
  const parents = new Set([...ephemerals.keys(), ...queues].filter(isWanted))
  const found: Found[] = []
  let unreadable = 0
  let isTruncated = false
  for (const path of [...parents].toSorted()) {
    await slices.pause()
    if (found.length >= linesMax || performance.now() > untilMs) {
      isTruncated = true
      break
    }
    if (!visible.has(joinPath(path, 'child'))) {
      unreadable++
      continue
    }
    const line = await read(client, path, ephemerals.get(path), mayRead)
    if (line !== undefined) found.push(line)
  }
  const waits = waitsIn(found.map(({ line }) => line))
  return {
    lines: found.map((each) => lineJson(each, mayRead)),
    waits: waits.map(waitJson),
    deadlocks: deadlocksIn(waits).map((circle) => circle.map(waitJson)),
    isTruncated,
    unreadable,
  }
}

/** The line below a znode; undefined if it has no contenders any more. */
async function read(
  client: InternalClient,
  parent: string,
  ephemerals: readonly string[] | undefined,
  mayRead: boolean,
): Promise<Found | undefined> {
  const candidates =
    ephemerals === undefined ? await queueItemsBelow(client, parent) : contendersAmong(ephemerals)
  const { standing, hidden } = await standingAmong(client, parent, first(candidates), mayRead)
  const line = lineOf(parent, standing)
  if (line === undefined) return undefined
  const unread = Math.max(0, candidates.length - readMax)
  return { line, hidden, total: standing.length + unread }
}

async function queueItemsBelow(
  client: InternalClient,
  path: string,
): Promise<readonly Candidate[]> {
  try {
    return queueItemsAmong((await childrenOf(client, path)).names)
  } catch (error) {
    if (isRefused(error, 'noNode')) return []
    throw error
  }
}

/** Ephemerals that are not contenders of a known layout are members of a group. */
function contendersAmong(names: readonly string[]): readonly Candidate[] {
  const contenders = candidatesAmong(names)
  return contenders.length > 0 ? contenders : names.map(groupMember)
}

/** The oldest candidates, by the numbers in their names. */
function first(candidates: readonly Candidate[]): readonly Candidate[] {
  if (candidates.length <= readMax) return candidates
  if (candidates[0]!.mark.kind === 'queue') return candidates.slice(0, readMax)
  const numberOf = ({ name }: Candidate): number => Number(/\d{1,10}$/.exec(name)?.[0] ?? 0)
  return candidates.toSorted((a, b) => numberOf(a) - numberOf(b)).slice(0, readMax)
}

async function standingAmong(
  client: InternalClient,
  parent: string,
  candidates: readonly Candidate[],
  mayRead: boolean,
): Promise<{ readonly standing: Standing[]; readonly hidden: number }> {
  let hidden = 0
  const all = candidates.map(async (candidate): Promise<Standing | undefined> => {
    const path = joinPath(parent, candidate.name)
    try {
      if (mayRead) {
        const { data, stat } = await client.call('getData', { path, watch: false })
        return { ...candidate, stat, id: contenderId(data) }
      }
    } catch (error) {
      if (isRefused(error, 'noNode')) return undefined
      if (!isRefused(error, 'noAuth')) throw error
    }
    const stat = await statOf(client, path)
    if (stat === 'hidden') hidden++
    return typeof stat === 'object' ? { ...candidate, stat, id: '' } : undefined
  })
  const standing = (await Promise.all(all)).filter((each) => each !== undefined)
  return { standing, hidden }
}

function lineJson({ line, total, hidden }: Found, mayRead: boolean): object {
  const { path, kind, contenders } = line
  return {
    path,
    kind,
    total,
    // If some contenders may not be read, the holder is uncertain.
    hidden,
    contenders: contenders.slice(0, contendersMax).map((each) => ({
      node: each.node,
      holds: each.holds,
      mode: each.mode ?? null,
      id: mayRead ? each.id : null,
      session: hex(each.session),
      token: String(each.token),
      since: isoTime(BigInt(each.sinceMs)),
      library: each.library,
    })),
  }
}

function waitJson({ waiter, holder, path }: Wait): object {
  return { waiter: hex(waiter), holder: hex(holder), path }
}
