/**
 * Many programs at once on one path: all get their turns, and no two that exclude each other
 * overlap.
 */
import { met, mostAtOnce, type Interval } from './intervals.ts'
import type { Scenario } from './scenario.ts'
import type { Hand, Stage } from './stage.ts'
import type { Player } from './troupe.ts'

const handsEach = 2
const turnsEach = 12

/** How a player is asked for a recipe; kazoo can name its nodes in two ways. */
export type KindOf = (player: Player) => string

interface Group {
  readonly intervals: readonly Interval[]
}

/** All exclude each other. */
export function exclusive(
  recipe: string,
  cast: readonly Player[],
  kindOf: KindOf = () => recipe,
): Scenario {
  return {
    name: `${recipe}, contended by ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const ledger = await makeLedger(stage, path)
      const { intervals } = await contend(stage, cast, path, ledger, kindOf)
      const most = mostAtOnce(intervals)
      if (most.length !== 1) throw new Error(`VIOLATION: ${most.join(' and ')} at the same time`)
      await expectWrites(stage, ledger, intervals.length)
    },
  }
}

/** Proves that the other scenarios can fail: these two do not know each other's nodes. */
export function strangers(scenario: Scenario): Scenario {
  return {
    name: `${scenario.name}, who are strangers: must be noticed`,
    cast: scenario.cast,
    async play(stage, path) {
      const failure = await scenario.play(stage, path).then(
        () => undefined,
        (error: unknown) => String(error),
      )
      await stage.clear()
      if (failure === undefined) throw new Error('nothing was noticed')
      if (!/VIOLATION|BadVersion/.test(failure)) throw new Error(failure)
    },
  }
}

/** Readers exclude writers, writers exclude all. */
export function readersAndWriters(
  cast: readonly Player[],
  { read, write }: { readonly read: KindOf; readonly write: KindOf },
): Scenario {
  return {
    name: `readers and writers, contended by ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const ledger = await makeLedger(stage, path)
      const [readers, writers] = await Promise.all([
        contend(stage, cast, path, ledger, read, 'reader'),
        contend(stage, cast, path, ledger, write, 'writer'),
      ])
      const most = mostAtOnce(writers.intervals)
      if (most.length !== 1) throw new Error(`VIOLATION: ${most.join(' and ')} at the same time`)
      const both = met(readers.intervals, writers.intervals)
      if (both !== undefined) throw new Error(`VIOLATION: ${both.join(' beside ')}`)
      await expectWrites(stage, ledger, writers.intervals.length)
    },
  }
}

/** At most this many at once, and at some time as many. */
export function limited(permits: number, cast: readonly Player[]): Scenario {
  return {
    name: `semaphore of ${permits}, contended by ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const kindOf = () => `semaphore:${permits}`
      const { intervals } = await contend(stage, cast, path, '-', kindOf, 'hand', permits + 1)
      const most = mostAtOnce(intervals)
      if (most.length > permits) throw new Error(`VIOLATION: ${most.length} at once`)
      if (most.length < permits) throw new Error(`never more than ${most.length} at once`)
    },
  }
}

async function contend(
  stage: Stage,
  cast: readonly Player[],
  path: string,
  ledger: string,
  kindOf: KindOf,
  name = 'hand',
  hands = handsEach,
): Promise<Group> {
  const playing = cast.flatMap((player) =>
    Array.from({ length: hands }, async (_, i) => {
      const hand = await stage.hand(player, `${name}${i}`)
      return { hand, kind: kindOf(player) }
    }),
  )
  // All are ready before the first one begins.
  const ready = await Promise.all(playing)
  const turns = await Promise.all(
    ready.map(({ hand, kind }) => {
      hand.tell('turns', kind, path, turnsEach, ledger)
      return turnsOf(hand)
    }),
  )
  return { intervals: turns.flat() }
}

async function turnsOf(hand: Hand): Promise<readonly Interval[]> {
  const turns: Interval[] = []
  for (;;) {
    const words = await hand.next()
    const [word, entered = '', left = ''] = words
    if (word === 'done') break
    if (word !== 'turn') throw new Error(`${hand.name} ${words.join(' ')}`)
    turns.push({ who: hand.name, enteredNs: BigInt(entered), leftNs: BigInt(left) })
  }
  if (turns.length !== turnsEach) throw new Error(`${hand.name} had ${turns.length} turns`)
  return turns
}

async function makeLedger({ client }: Stage, path: string): Promise<string> {
  const ledger = `${path}-ledger`
  await client.create(ledger, 'free')
  return ledger
}

/** Checks that each turn wrote twice. */
async function expectWrites({ client }: Stage, ledger: string, turns: number): Promise<void> {
  const { stat } = await client.get(ledger)
  if (stat.version !== turns * 2)
    throw new Error(`the ledger was written ${stat.version} times in ${turns} turns`)
}
