import { isRefusal, type Client } from '@zabra/client'
import {
  candidatesAmong,
  contenderId,
  lineOf,
  type Candidate,
  type Line,
  type Standing,
} from '@zabra/protocol'
import { joinPath } from '../node/paths.ts'
import { walk } from '../node/walk.ts'

/** The lines at a node and below it. */
export async function* findLines(
  client: Client,
  top: string,
  signal: AbortSignal,
): AsyncGenerator<Line, void, undefined> {
  const skip = (path: string): boolean => path === '/zookeeper'
  for await (const { path, children } of walk(client, top, { signal, skip })) {
    const line = await lineAt(client, path, children)
    if (line !== undefined) yield line
  }
}

/** The line whose contenders are the children of a node. */
async function lineAt(
  client: Client,
  path: string,
  children: readonly string[],
): Promise<Line | undefined> {
  const candidates = candidatesAmong(children)
  const read = await Promise.all(candidates.map((each) => readCandidate(client, path, each)))
  return lineOf(
    path,
    read.filter((each) => each !== undefined),
  )
}

/** Undefined where it has gone; without data where it may not be read. */
async function readCandidate(
  client: Client,
  parent: string,
  candidate: Candidate,
): Promise<Standing | undefined> {
  const path = joinPath(parent, candidate.name)
  try {
    const { data, stat } = await client.get(path)
    return { ...candidate, stat, id: contenderId(data) }
  } catch (error) {
    if (isRefusal(error, 'noNode')) return undefined
    if (!isRefusal(error, 'noAuth')) throw error
    const stat = await client.exists(path)
    return stat && { ...candidate, stat, id: '' }
  }
}
