/** The first to ask is the first to get it, whichever program asks. */
import { isRefusal } from '@zabra/client'
import { until } from '../src/until.ts'
import type { KindOf } from './contention.ts'
import type { Scenario } from './scenario.ts'
import type { Hand, Stage } from './stage.ts'
import type { Player } from './troupe.ts'

const queuedMsMax = 10_000

export interface Queue {
  readonly recipe: string
  readonly kindOf: KindOf
  /** The path of waiting nodes, below the path of the recipe. */
  readonly waiters?: string
  /** Whether the holder has a node there as well. */
  readonly holderCounts?: boolean
}

/** All queue twice, in turns; then they get it one after another. */
export function inOrder(queue: Queue, cast: readonly Player[]): Scenario {
  const { recipe, kindOf } = queue
  return {
    name: `${recipe}, in the order of ${[...cast, ...cast].join(', ')}`,
    cast,
    async play(stage, path) {
      const all = await Promise.all(
        [...cast, ...cast].map(async (player, i) => ({
          hand: await stage.hand(player, `order${i}`),
          kind: kindOf(player),
        })),
      )
      for (const [index, { hand, kind }] of all.entries()) {
        hand.tell('acquire', kind, path)
        if (index === 0) await hand.hear('held')
        await untilQueued(stage, path, queue, index)
      }
      for (const [index, { hand }] of all.entries()) {
        if (index > 0) await hand.hear('held')
        expectSilence(
          all.slice(index + 1).map((one) => one.hand),
          hand,
        )
        hand.tell('release')
        await hand.hear('released')
      }
    },
  }
}

/** A writer, two readers, a writer, a reader: the two readers hold it together. */
export function readersBetweenWriters(
  cast: readonly [Player, Player],
  { read, write }: { readonly read: KindOf; readonly write: KindOf },
): Scenario {
  const [one, other] = cast
  return {
    name: `readers between writers of ${one}, ${other}`,
    cast,
    async play(stage, path) {
      const steps = [
        [one, write],
        [other, read],
        [one, read],
        [other, write],
        [one, read],
      ] as const
      const hands: Hand[] = []
      for (const [index, [player, kindOf]] of steps.entries()) {
        const hand = await stage.hand(player, `between${index}`)
        hands.push(hand)
        hand.tell('acquire', kindOf(player), path)
        if (index === 0) await hand.hear('held')
        else await untilQueued(stage, path, { recipe: 'readers', kindOf }, index)
      }
      const [first, second, third, fourth, fifth] = hands as [Hand, Hand, Hand, Hand, Hand]
      expectSilence([second, third, fourth, fifth], first)
      await giveBack(first)
      await Promise.all([second.hear('held'), third.hear('held')])
      await giveBack(second)
      expectSilence([fourth, fifth], third)
      await giveBack(third)
      await fourth.hear('held')
      expectSilence([fifth], fourth)
      await giveBack(fourth)
      await fifth.hear('held')
      await giveBack(fifth)
    },
  }
}

async function giveBack(hand: Hand): Promise<void> {
  hand.tell('release')
  await hand.hear('released')
}

function expectSilence(hands: readonly Hand[], holder: Hand): void {
  const early = hands.find((hand) => hand.hasSpoken)
  if (early !== undefined) throw new Error(`VIOLATION: ${early.name} while ${holder.name} has it`)
}

/** Waits until this many wait behind the holder. */
export async function untilQueued(
  stage: Stage,
  path: string,
  { waiters, holderCounts = true }: Queue,
  count: number,
): Promise<void> {
  const parent = waiters === undefined ? path : `${path}/${waiters}`
  const wanted = holderCounts ? count + 1 : count
  await until(`not ${wanted} under ${parent}`, queuedMsMax, async () => {
    try {
      return (await stage.client.children(parent)).length === wanted
    } catch (error) {
      if (isRefusal(error, 'noNode')) return wanted === 0
      throw error
    }
  })
}
