import {
  candidatesAmong,
  contenderId,
  joinPath,
  lineOf,
  type Candidate,
  type Line,
  type Standing,
} from '@zabra/protocol'
import { isRefused } from '../api-error.ts'
import { includes } from '../clients.ts'
import type { InternalClient } from '../internal-client.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
import { array, boolean, choice, integer, nullable, object, text } from '../schema.ts'
import { hex, isoTime } from '../shapes.ts'
import { statOf, walk } from '../tree.ts'

const linesMax = 500
const contendersMax = 200
const scannedMax = 200_000
const scanMsMax = 5_000

export const locks: readonly Route[] = [
  {
    method: 'GET',
    path: '/locks',
    summary:
      'Locks, elections and semaphores in the layouts of zabra, Curator and kazoo: who holds them, and who waits',
    role: 'metadata',
    parameters: { path: { ...pathParameter, description: 'Where to look, and below' } },
    answer: object({
      lines: array(
        object({
          path: text,
          kind: choice('lock', 'read/write lock', 'election', 'semaphore', 'simple lock'),
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
      ),
      isTruncated: boolean,
      scanned: integer,
      unreadable: integer,
    }),
    errors: [404],
    handle: list,
  },
]

async function list({ client, query, role, signal }: Call): Promise<unknown> {
  const mayRead = includes(role, 'read')
  const untilMs = performance.now() + scanMsMax
  const lines: object[] = []
  let [scanned, unreadable] = [0, 0]
  let isTruncated = false
  const isWanted = (path: string): boolean => path !== '/zookeeper'
  for await (const { path, children, isUnreadable } of walk(client, query.path(), isWanted)) {
    signal.throwIfAborted()
    scanned++
    if (isUnreadable) unreadable++
    const candidates = candidatesAmong(children)
    if (candidates.length > 0) {
      const { line, hidden } = await read(client, path, candidates, mayRead)
      if (line !== undefined) lines.push(lineJson(line, hidden, mayRead))
    }
    if (lines.length >= linesMax || scanned >= scannedMax || performance.now() > untilMs) {
      isTruncated = true
      break
    }
  }
  return { lines, isTruncated, scanned, unreadable }
}

async function read(
  client: InternalClient,
  parent: string,
  candidates: readonly Candidate[],
  mayRead: boolean,
): Promise<{ readonly line: Line | undefined; readonly hidden: number }> {
  let hidden = 0
  const standing = candidates.map(async (candidate): Promise<Standing | undefined> => {
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
  const found = (await Promise.all(standing)).filter((each) => each !== undefined)
  return { line: lineOf(parent, found), hidden }
}

function lineJson({ path, kind, contenders }: Line, hidden: number, mayRead: boolean): object {
  return {
    path,
    kind,
    total: contenders.length,
    // The holder is uncertain if some contenders may not be read.
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
