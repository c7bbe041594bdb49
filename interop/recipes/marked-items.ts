/** Queues whose items have a time or an id: those of Curator, and ours. */
import { until } from '../src/until.ts'
import type { Scenario } from './scenario.ts'
import type { Hand, Stage } from './stage.ts'
import type { Player } from './troupe.ts'

const itemsEach = 8
const delayMsMax = 1200
/** A session of 3 s ends after that and a tick at the latest; machines may be slow. */
const inheritedMsMax = 20_000

const removedMsMax = 10_000

type Kind = 'delay' | 'id'

/** All put in and all take out: every item comes out once, and none before it is due. */
export function markedQueue(kind: Kind, cast: readonly Player[]): Scenario {
  return {
    name: `${kind} queue of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const consumers = await hands(stage, cast, 'consumer')
      const producers = await hands(stage, cast, 'producer')
      for (const hand of consumers) hand.tell('drain', kind, path)
      const wanted: string[] = []
      for (let i = 0; i < itemsEach; i++) {
        for (const hand of producers) {
          // Later items are due earlier.
          const dueMs = Date.now() + Math.round((delayMsMax * (itemsEach - i)) / itemsEach)
          const value = `${hand.name}:${i}:${dueMs}`
          wanted.push(value)
          await put(hand, kind, path, value, kind === 'delay' ? `${dueMs}` : `id-${i}`)
        }
      }
      const taken = await drained(consumers, wanted.length)
      const values = taken.map(({ value }) => value)
      if (values.toSorted().join() !== wanted.toSorted().join())
        throw new Error(`VIOLATION: came out: ${values.join(' ')}`)
      const early = taken.find(({ value, atMs }) => atMs < Number(value.split(':')[2]))
      if (kind === 'delay' && early !== undefined)
        throw new Error(`VIOLATION: ${early.value} came at ${early.atMs}`)
      await expectEmpty(stage, path)
    },
  }
}

/** One program puts an item under an id, the other removes it by that id. */
export function removal(putter: Player, remover: Player): Scenario {
  return {
    name: `id queue: ${remover} removes what ${putter} has put`,
    cast: [putter, remover],
    async play(stage, path) {
      const producer = await stage.hand(putter, 'putter')
      const other = await stage.hand(remover, 'remover')
      for (const id of ['order-17', 'order-18', 'order-17'])
        await put(producer, 'id', path, `mail-${id}`, id)
      other.tell('remove', path, 'order-17')
      const [removed] = await other.hear('removed')
      if (removed !== '2') throw new Error(`VIOLATION: ${removed} removed in place of 2`)
      other.tell('drain', 'id', path)
      const [left] = await drained([other], 1)
      if (left?.value !== 'mail-order-18') throw new Error(`VIOLATION: ${left?.value} was left`)
      await expectEmpty(stage, path)
    },
  }
}

/** The item of one who dies is handed to somebody else, of another kind. */
export function markedQueueOfTheDead(kind: Kind, first: Player, next: Player): Scenario {
  return {
    name: `${kind} queue: ${next} gets the item of ${first}, who is killed`,
    cast: [first, next],
    async play(stage, path) {
      const victim = await stage.hand(first, 'victim')
      const heir = await stage.hand(next, 'heir')
      await put(heir, kind, path, 'orphan', markOf(kind))
      victim.tell('grab', kind, path)
      await victim.hear('item')
      heir.tell('drain', kind, path)
      await stage.kill(first)
      const { client } = stage
      const isFree = async (): Promise<boolean> =>
        (await client.children(`${path}/taken`)).length === 0
      await until('the item stays taken', inheritedMsMax, isFree)
      // Curator looks at its items again only when there is a new one.
      const helper = await stage.hand(next, 'helper')
      await put(helper, kind, path, 'another', markOf(kind))
      const values = (await drained([heir], 2)).map(({ value }) => value)
      if (values.toSorted().join() !== 'another,orphan')
        throw new Error(`VIOLATION: came out: ${values.join(' ')}`)
      await expectEmpty(stage, path)
    },
  }
}

/** Due at once, or any id. */
function markOf(kind: Kind): string {
  return kind === 'delay' ? `${Date.now()}` : 'some-id'
}

async function put(
  hand: Hand,
  kind: Kind,
  path: string,
  value: string,
  mark: string,
): Promise<void> {
  hand.tell('enqueue', kind, path, value, mark)
  await hand.hear('done')
}

interface Taken {
  readonly value: string
  readonly atMs: number
}

/** The items that the consumers take, until they reach this number and stop. */
async function drained(consumers: readonly Hand[], count: number): Promise<Taken[]> {
  const taken: Taken[] = []
  await Promise.all(
    consumers.map(async (hand) => {
      for (;;) {
        const [word, value = '', atMs] = await hand.next()
        if (word === 'stopped') return
        if (word !== 'item') throw new Error(`${hand.name} said '${word} ${value}'`)
        taken.push({ value, atMs: Number(atMs) })
        if (taken.length === count) for (const one of consumers) one.tell('stop')
      }
    }),
  )
  return taken
}

/** Curator removes an item after the consumer has had it. */
function expectEmpty({ client }: Stage, path: string): Promise<void> {
  const isEmpty = async (): Promise<boolean> =>
    (await client.children(`${path}/entries`)).length === 0
  return until('VIOLATION: items stay', removedMsMax, isEmpty)
}

function hands(stage: Stage, cast: readonly Player[], name: string): Promise<Hand[]> {
  return Promise.all(cast.map((player) => stage.hand(player, name)))
}
