import type { Client } from '@zabra/client'
import { median } from '../statistics.ts'
import type { Arena } from './arena.ts'
import type { Contestant } from './contestants.ts'
import type { ClientBenchOptions } from './options.ts'
import type { Player } from './player.ts'
import { ClientRow } from './rows.ts'

const watched = '/watched'
const many = '/many'

/** Measures how long a change takes to reach a watch, in warm processes. */
export async function measureNotifications(
  { hand }: Arena,
  players: readonly Player[],
  { rounds, notifications }: ClientBenchOptions,
): Promise<ClientRow> {
  await hand.ensure(watched)
  const row = new ClientRow('notification, median', 'us', false)
  for (let round = 1; round <= rounds; round++) {
    for (const player of players) {
      const latencies: number[] = []
      for (let i = 0; i < notifications; i++) latencies.push(await notify(hand, player))
      row.add(player.name, median(latencies))
    }
  }
  return row
}

/**
 * Measures in fresh processes: the first notification, before anything is compiled; then the cost
 * of holding many watches, and of notifications for all of them.
 */
export async function measureWatches(
  arena: Arena,
  contestants: readonly Contestant[],
  { rounds, watches }: ClientBenchOptions,
): Promise<readonly ClientRow[]> {
  const { hand } = arena
  const first = new ClientRow('first notification of a process', 'us', false)
  const grown = new ClientRow(`resident memory for ${watches} watches`, 'MB', false)
  const live = new ClientRow('of it alive, as the run-time says', 'MB', false)
  const total = new ClientRow('resident memory in all', 'MB', false)
  const told = new ClientRow('all of them changed and told', 'ms', false)
  const paths = Array.from({ length: watches }, (_, i) => `${many}/${i}`)
  await Promise.all([hand.ensure(watched), hand.ensure(many)])
  await Promise.all(paths.map((path) => hand.create(path)))
  for (let round = 1; round <= rounds; round++) {
    for (const contestant of contestants) {
      const player = await arena.enter(contestant)
      first.add(player.name, await notify(hand, player))
      const before = await player.memory()
      await player.watchChildren(many, watches)
      const after = await player.memory()
      grown.add(player.name, after.residentMb - before.residentMb)
      live.add(player.name, after.liveMb - before.liveMb)
      total.add(player.name, after.residentMb)
      const changeAll = () => Promise.all(paths.map((path) => hand.set(path, '')))
      told.add(player.name, (await timed(player, changeAll)) / 1000)
      await player.end()
    }
  }
  return [first, grown, live, total, told]
}

async function notify(hand: Client, player: Player): Promise<number> {
  await player.arm(watched)
  return timed(player, () => hand.set(watched, ''))
}

/**
 * The time from the request of a change, here, until the watches are called in the other process.
 */
async function timed(player: Player, change: () => Promise<unknown>): Promise<number> {
  const askedAtNs = process.hrtime.bigint()
  const [firedAtNs] = await Promise.all([player.firedAtNs(), change()])
  return Number(firedAtNs - askedAtNs) / 1000
}
