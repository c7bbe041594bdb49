import { formatNumber } from '../statistics.ts'
import type { Arena } from './arena.ts'
import type { ClientBenchOptions } from './options.ts'
import type { Load, LoadFigures, Operation, Player } from './player.ts'
import { ClientRow, pipelinedTarget, sequentialTarget } from './rows.ts'

const operations: readonly Operation[] = ['get', 'set', 'create']
const warmSeconds = 0.5

export interface LoadRows {
  readonly speed: readonly ClientRow[]
  readonly cpu: readonly ClientRow[]
}

/** One request at a time, and many in flight. */
export async function measureLoads(
  arena: Arena,
  players: readonly Player[],
  options: ClientBenchOptions,
): Promise<LoadRows> {
  const speed: ClientRow[] = []
  const cpu: ClientRow[] = []
  for (const window of [1, options.window]) {
    for (const operation of operations) {
      const rows = await measureLoad(arena, players, operation, window, options)
      console.error(
        `  ${rows.speed.name}: ${formatNumber(rows.speed.ratioToNpm)} times the better from npm`,
      )
      speed.push(rows.speed)
      cpu.push(rows.cpu)
    }
  }
  return { speed, cpu }
}

/** The clients take turns in every round, so that a disturbance affects all of them. */
async function measureLoad(
  arena: Arena,
  players: readonly Player[],
  operation: Operation,
  window: number,
  { rounds, seconds }: ClientBenchOptions,
): Promise<{ readonly speed: ClientRow; readonly cpu: ClientRow }> {
  const isSequential = window === 1
  const name = `${operation}, ${isSequential ? 'one by one' : `${window} at a time`}`
  const target = isSequential ? sequentialTarget : pipelinedTarget
  const speed = new ClientRow(name, 'op/s', true, target, !isSequential)
  const cpu = new ClientRow(name, 'us/op', false)
  const play = (player: Player, length: number, round: number): Promise<LoadFigures> =>
    counted(arena, player, { operation, window, seconds: length, round: `${window}-${round}` })
  for (const player of players) await play(player, warmSeconds, 0)
  for (let round = 1; round <= rounds; round++) {
    for (const player of players) {
      const figures = await play(player, seconds, round)
      speed.add(player.name, figures.opsPerS)
      cpu.add(player.name, figures.cpuUsPerOp)
    }
  }
  return { speed, cpu }
}

/** Fails if a client claims more requests than the server has counted. */
async function counted(arena: Arena, player: Player, load: Load): Promise<LoadFigures> {
  const before = await arena.requestsReceived()
  const figures = await player.load(load)
  const received = (await arena.requestsReceived()) - before
  if (!(received >= figures.ops))
    throw new Error(`${player.name} claims ${figures.ops} requests, the server saw ${received}`)
  return figures
}
