import { errorCodes, eventTypes } from '@zabra/protocol'
import type { RawClient } from '../raw-client.ts'
import { textOf } from '../raw-client.ts'
import type { Found, FoundNode } from './book.ts'

/** A node and its children, except ignored ones, without their descendants. */
export async function look(
  client: RawClient,
  path: string,
  isIgnored: (name: string) => boolean = () => false,
): Promise<Found> {
  const { children, stat } = await client.must('getChildren2', { path, watch: false })
  const nodes = new Map<string, FoundNode>()
  await Promise.all(
    children
      .filter((name) => !isIgnored(name))
      .map(async (name) => {
        const { err, response } = await client.call('getData', {
          path: `${path}/${name}`,
          watch: false,
        })
        // An ephemeral may be deleted between the two requests.
        if (err === errorCodes.noNode || response === undefined) return
        const { version, czxid, mzxid } = response.stat
        nodes.set(name, { data: textOf(response.data) ?? '', version, czxid, mzxid })
      }),
  )
  // Clients see the sum of creations and deletions.
  return { nodes, creates: (stat.cversion + stat.numChildren) / 2 }
}

/** Waits until the nodes are deleted; returns those that still exist after the time limit. */
export async function untilGone(
  client: RawClient,
  paths: readonly string[],
  msMax: number,
): Promise<string[]> {
  const left = new Set(paths)
  if (left.size === 0) return []
  await client.watchTree('/')
  for (const path of paths) {
    const { err } = await client.call('exists', { path, watch: false })
    if (err === errorCodes.noNode) left.delete(path)
  }
  let impatience: NodeJS.Timeout | undefined
  const timeIsUp = new Promise<undefined>((resolve) => {
    impatience = setTimeout(() => resolve(undefined), msMax)
  })
  while (left.size > 0) {
    const event = await Promise.race([client.nextEvent(), timeIsUp])
    if (event === undefined) break
    if (event.type === eventTypes.nodeDeleted) left.delete(event.path)
  }
  clearTimeout(impatience)
  return [...left]
}
