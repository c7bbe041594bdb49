/** Programs that wait for each other. */
import type { Scenario } from './scenario.ts'
import type { Hand } from './stage.ts'
import type { Player } from './troupe.ts'
import { setTimeout as delay } from 'node:timers/promises'

const earlyMs = 300

/**
 * All members enter and leave: none enters before the last has arrived, or leaves before the last
 * wants to.
 */
export function doubleBarrier(cast: readonly Player[]): Scenario {
  return {
    name: `double barrier of ${[...cast, ...cast].join(', ')}`,
    cast,
    async play(stage, path) {
      const members = [...cast, ...cast]
      const hands = await Promise.all(members.map((player, i) => stage.hand(player, `member${i}`)))
      await together(hands, ['enter', path, members.length], 'entered')
      await together(hands, ['leave'], 'left')
    },
  }
}

/** One raises it, others wait, another one lowers it. */
export function barrier(raiser: Player, lowerer: Player, waiter: Player): Scenario {
  return {
    name: `barrier of ${raiser}, lowered by ${lowerer}, passed by ${waiter}`,
    cast: [...new Set([raiser, lowerer, waiter])],
    async play(stage, path) {
      const up = await stage.hand(raiser, 'raiser')
      const down = await stage.hand(lowerer, 'lowerer')
      const passing = await stage.hand(waiter, 'waiter')
      up.tell('raise', path)
      await up.hear('raised')
      passing.tell('pass', path)
      await delay(earlyMs)
      if (passing.hasSpoken) throw new Error('VIOLATION: passed a barrier that is up')
      down.tell('lower', path)
      const [loweredAtNs = '0'] = await down.hear('lowered')
      const [passedAtNs = '0'] = await passing.hear('passed')
      if (BigInt(passedAtNs) < BigInt(loweredAtNs)) throw new Error('VIOLATION: passed too early')
    },
  }
}

/** The last one asks some time after the others, which must have waited for it. */
async function together(
  hands: readonly Hand[],
  wish: readonly (string | number)[],
  word: string,
): Promise<void> {
  const last = hands.at(-1)!
  const others = hands.slice(0, -1)
  for (const hand of others) hand.tell(...wish)
  await delay(earlyMs)
  const early = others.find((hand) => hand.hasSpoken)
  if (early !== undefined) throw new Error(`VIOLATION: ${early.name} ${word} without ${last.name}`)
  last.tell(...wish)
  const times = await Promise.all(hands.map((hand) => hand.hear(word)))
  const lastAskedNs = times.map(([asked = '0']) => BigInt(asked)).reduce((a, b) => (a > b ? a : b))
  const index = times.findIndex(([, done = '0']) => BigInt(done) < lastAskedNs)
  if (index >= 0) throw new Error(`VIOLATION: ${hands[index]!.name} ${word} before all did ask`)
}
