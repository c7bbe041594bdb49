/**
 * A client that works while servers are restarted:
 *
 *     visitor.ts HOST:PORT,...
 *
 * It holds an ephemeral znode and writes one znode after the other until its stdin ends. Then it
 * prints its results as JSON.
 */
import { once } from 'node:events'
import { connect, ZabraError } from '@zabra/client'

/** The report of a visitor at the end. */
export interface Visit {
  readonly acknowledged: number
  /** Acknowledged writes that no longer exist. */
  readonly missing: number
  readonly isSameSession: boolean
  readonly isEphemeralThere: boolean
  /** The longest time between two acknowledged writes. */
  readonly longestPauseMs: number
}

if (process.argv[2] !== undefined) console.log(JSON.stringify(await visit(process.argv[2])))

async function visit(servers: string): Promise<Visit> {
  const client = await connect(servers, {
    sessionTimeoutMs: 20_000,
    onExpiry: 'end',
    timeoutMs: 30_000,
  })
  const session = client.session?.id
  const mark = `/visitors/${session}`
  await client.ensure('/visitors')
  await client.ensure('/written')
  await client.create(mark, '', { ephemeral: true })
  console.log('at work')

  const course = { isOver: false }
  process.stdin.resume()
  void once(process.stdin, 'end').then(() => (course.isOver = true))
  const acknowledged: string[] = []
  let longestPauseMs = 0
  let lastMs = performance.now()
  while (!course.isOver) {
    try {
      const { path } = await client.create('/written/w-', '', { sequential: true })
      acknowledged.push(path)
      longestPauseMs = Math.max(longestPauseMs, performance.now() - lastMs)
      lastMs = performance.now()
    } catch (error) {
      // A write whose reply was lost may or may not have taken effect.
      if (!(error instanceof ZabraError) || client.session === undefined) throw error
    }
  }
  await client.sync('/')
  const children = await client.children('/written')
  const there = new Set(children.map((name) => `/written/${name}`))
  const result: Visit = {
    acknowledged: acknowledged.length,
    missing: acknowledged.filter((path) => !there.has(path)).length,
    isSameSession: client.session?.id === session,
    isEphemeralThere: (await client.exists(mark)) !== undefined,
    longestPauseMs: Math.round(longestPauseMs),
  }
  await client.close()
  return result
}
