import { setTimeout as delay } from 'node:timers/promises'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'
import { zabraCommand } from '../src/commands.ts'
import type { EnsembleServer } from '../src/ensemble.ts'
import { startTrio } from './trio.ts'

/** The longest wait of a client of the leader while something happened to another server. */
export interface LargeStep {
  readonly step: string
  readonly tookMs: number
  readonly writeMs: number
  readonly readMs: number
}

const dataBytes = 100
const perParent = 1000
const pipelined = 1000

/**
 * A tree with many znodes: one server is restarted, then one loses its disk, while others serve.
 */
export async function restartWithMany(znodes: number): Promise<LargeStep[]> {
  const trio = await startTrio(zabraCommand())
  try {
    const leader = await trio.leader()
    await fill(leader.port, znodes)
    const follower = trio.servers.find((server) => server !== leader)!
    const steps: LargeStep[] = []
    const measure = async (step: string, work: () => Promise<void>): Promise<void> => {
      steps.push({ step, ...(await waits(leader.port, work)) })
    }
    await measure('nothing happens', () => delay(5000))
    await measure('a follower is restarted', () => follower.restart(false))
    await follower.stop()
    await overwrite(leader.port, znodes / 4)
    await measure(`a follower missed ${znodes / 4} writes`, () => follower.start())
    await measure('a follower comes back with an empty disk', () => loseDisk(follower))
    return steps
  } finally {
    await trio.dispose()
  }
}

async function loseDisk(server: EnsembleServer): Promise<void> {
  await server.stop('SIGKILL')
  server.loseData()
  await server.start()
}

async function fill(port: number, znodes: number): Promise<void> {
  const data = Buffer.alloc(dataBytes, 'x')
  await inMany(port, znodes, (client, i) => {
    const parent = `/p${Math.floor(i / perParent)}`
    const path = i % perParent === 0 ? parent : `${parent}/n${i}`
    return client.must('create', { path, data, acl: openAcl, flags: 0 })
  })
}

async function overwrite(port: number, times: number): Promise<void> {
  const data = Buffer.alloc(dataBytes, 'z')
  await inMany(port, times, (client, i) => {
    const path = `/p${Math.floor(i / perParent)}`
    return client.must('setData', { path, data, version: -1 })
  })
}

async function inMany(
  port: number,
  count: number,
  ask: (client: RawClient, i: number) => Promise<unknown>,
): Promise<void> {
  const client = await RawClient.connect(port, { timeoutMs: 40_000 })
  let waiting: Promise<unknown>[] = []
  for (let i = 0; i < count; i++) {
    waiting.push(ask(client, i))
    if (waiting.length < pipelined) continue
    await Promise.all(waiting)
    waiting = []
  }
  await Promise.all(waiting)
  await client.close()
}

/** Two clients, one of which writes and one reads, one request after the other. */
async function waits(port: number, work: () => Promise<void>): Promise<Omit<LargeStep, 'step'>> {
  const startedMs = performance.now()
  const course = { isOver: false }
  const longest = async (ask: (client: RawClient) => Promise<unknown>): Promise<number> => {
    const client = await RawClient.connect(port, { timeoutMs: 40_000 })
    let longestMs = 0
    while (!course.isOver) {
      const askedMs = performance.now()
      await ask(client)
      longestMs = Math.max(longestMs, performance.now() - askedMs)
      await delay(1)
    }
    await client.close()
    return longestMs
  }
  const data = Buffer.alloc(dataBytes, 'y')
  const writing = longest((client) => client.must('setData', { path: '/p0', data, version: -1 }))
  const reading = longest((client) => client.must('getData', { path: '/p0', watch: false }))
  await work()
  const tookMs = performance.now() - startedMs
  course.isOver = true
  const [writeMs, readMs] = await Promise.all([writing, reading])
  return { tookMs, writeMs, readMs }
}
