import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../random.ts'
import { RawClient } from '../raw-client.ts'
import { EnsembleProcesses } from './ensemble-processes.ts'
import { MovingSession } from './moving-session.ts'

export interface FailoverOptions {
  readonly dir: string
  readonly servers: number
  readonly count: number
  readonly how: 'SIGKILL' | 'SIGTERM'
}

/** As in a deployment: the values of Apache's sample configuration. */
const cfg = 'tickTime=2000\ninitLimit=10\nsyncLimit=5\n4lw.commands.whitelist=*'
const path = '/failover'
const patienceMs = 60_000

/**
 * Milliseconds from the loss of the leader until the next write is acknowledged, for each round.
 */
export async function measureFailovers(options: FailoverOptions): Promise<number[]> {
  const { dir, servers, count, how } = options
  const ensemble = await EnsembleProcesses.open({ dir, servers, cfg, isProxied: false })
  try {
    await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
    const session = new MovingSession('failover', ensemble, new Random(1), 30_000)
    const first = (await session.connect(() => false))!
    await first.create(path)
    await first.abandon()
    const took: number[] = []
    while (took.length < count) took.push(await failOver(ensemble, session, how))
    return took
  } finally {
    await ensemble.close(false)
  }
}

async function failOver(
  ensemble: EnsembleProcesses,
  session: MovingSession,
  how: 'SIGKILL' | 'SIGTERM',
): Promise<number> {
  const leader = await untilWhole(ensemble)
  const follower = ensemble.ids.find((id) => id !== leader)!
  const client = await session.tryConnect(follower)
  await client?.must('setData', { path, data: null, version: -1 })
  await client?.abandon()
  const startMs = performance.now()
  const gone = how === 'SIGKILL' ? ensemble.kill(leader) : ensemble.stop(leader)
  await untilWritten(ensemble, session, leader)
  const tookMs = performance.now() - startMs
  await gone
  await ensemble.start(leader)
  return tookMs
}

async function untilWritten(
  ensemble: EnsembleProcesses,
  session: MovingSession,
  leader: number,
): Promise<void> {
  const others = ensemble.ids.filter((id) => id !== leader)
  const untilMs = performance.now() + patienceMs
  for (let attempt = 0; performance.now() < untilMs; attempt++) {
    const client = await session.tryConnect(others[attempt % others.length]!)
    if (client === undefined) {
      await delay(2)
      continue
    }
    const reply = await client
      .call('setData', { path, data: null, version: -1 })
      .catch(() => undefined)
    await client.abandon()
    if (reply?.err === 0) return
  }
  throw new Error(`no write was acknowledged for ${patienceMs} ms`)
}

/** Waits until every server serves; returns the leader. */
async function untilWhole(ensemble: EnsembleProcesses): Promise<number> {
  const untilMs = performance.now() + patienceMs
  while (performance.now() < untilMs) {
    const modes = await Promise.all(ensemble.ids.map((id) => ensemble.mode(id)))
    const leader = ensemble.ids[modes.indexOf('leader')]
    if (leader !== undefined && modes.every((mode) => mode !== undefined)) {
      const client = await RawClient.connect(ensemble.clientPort(leader))
      await client.close()
      return leader
    }
    await delay(50)
  }
  throw new Error(`the ensemble was not whole for ${patienceMs} ms`)
}
