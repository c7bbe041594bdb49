/** Shared state that is not held: numbers, items, groups, services. */
import { text, type Client, type Stat } from '@zabra/client'
import { until } from '../src/until.ts'
import type { Scenario } from './scenario.ts'
import type { Hand, Stage } from './stage.ts'
import type { Player } from './troupe.ts'

const timesEach = 40
const itemsEach = 15
const comebackMsMax = 10_000

/** All increment at once, and no increment is lost. */
export function counting(layout: 'long' | 'int', cast: readonly Player[]): Scenario {
  return {
    name: `counter (${layout}) of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const counters = await hands(stage, cast, 'counter')
      for (const hand of counters) hand.tell('count', layout, path, timesEach)
      const last = await Promise.all(counters.map((hand) => hand.hear('counted')))
      const numbers = last.map(([number = '']) => Number(number))
      const total = cast.length * timesEach
      if (Math.max(...numbers) !== total)
        throw new Error(`VIOLATION: ${total} counts made ${Math.max(...numbers)}`)
    },
  }
}

/** All put and all take: every item comes out exactly once. */
export function queue(cast: readonly Player[]): Scenario {
  return {
    name: `queue of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const producers = await hands(stage, cast, 'producer')
      const consumers = await hands(stage, cast, 'consumer')
      for (const hand of consumers) hand.tell('consume', path, itemsEach)
      for (const hand of producers) hand.tell('put', path, itemsEach)
      const wanted = producers.flatMap(({ name }) =>
        Array.from({ length: itemsEach }, (_, i) => `${name}:${i}`),
      )
      const taken = await Promise.all(consumers.map((hand) => itemsOf(hand)))
      await Promise.all(producers.map((hand) => hand.hear('done')))
      const found = taken.flat().toSorted()
      if (found.join() !== wanted.toSorted().join())
        throw new Error(`VIOLATION: came out: ${found.join(' ')}`)
    },
  }
}

/** The item of a consumer that dies goes to another one, of another kind. */
export function queueOfTheDead(first: Player, next: Player): Scenario {
  return {
    name: `queue: ${next} gets the item of ${first}, who is killed`,
    cast: [first, next],
    async play(stage, path) {
      const victim = await stage.hand(first, 'victim')
      const heir = await stage.hand(next, 'heir')
      heir.tell('put', path, 1)
      await heir.hear('done')
      victim.tell('take', path)
      const [item] = await victim.hear('item')
      heir.tell('consume', path, 1)
      await stage.kill(first)
      const [again] = await heir.hear('item')
      await heir.hear('done')
      if (item !== again) throw new Error(`VIOLATION: ${item} was taken, ${again} came again`)
      const left = await stage.client.children(`${path}/entries`)
      if (left.length > 0) throw new Error(`VIOLATION: ${left.join(' ')} stayed`)
    },
  }
}

/** All join, and each sees all. */
export function group(cast: readonly Player[]): Scenario {
  return {
    name: `group of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const members = await hands(stage, cast, 'member')
      for (const [i, hand] of members.entries()) hand.tell('join', path, `name${i}`, `data${i}`)
      await Promise.all(members.map((hand) => hand.hear('joined')))
      for (const hand of members) hand.tell('members', path, members.length)
      const wanted = members.map((_, i) => `name${i}=data${i}`).join(' ')
      await all(members, 'members', wanted)
    },
  }
}

/** All attend, and each sees all. */
export function party(cast: readonly Player[]): Scenario {
  return {
    name: `party of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const guests = await hands(stage, cast, 'guest')
      for (const [i, hand] of guests.entries()) hand.tell('attend', path, `guest${i}`)
      await Promise.all(guests.map((hand) => hand.hear('attending')))
      for (const hand of guests) hand.tell('guests', path, guests.length)
      await all(guests, 'guests', guests.map((_, i) => `guest${i}`).join(' '))
    },
  }
}

/** All add to one shared count by its version, and nothing is lost. */
export function sharedCount(cast: readonly Player[]): Scenario {
  return {
    name: `shared count of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const adders = await hands(stage, cast, 'adder')
      for (const hand of adders) hand.tell('add', path, timesEach)
      await Promise.all(adders.map((hand) => hand.hear('done')))
      const { data } = await stage.client.get(path)
      const found = Buffer.from(data).toString('hex')
      const wanted = (cast.length * timesEach).toString(16).padStart(8, '0')
      if (found !== wanted) throw new Error(`VIOLATION: ${found} in place of ${wanted}`)
    },
  }
}

/** Ephemeral nodes with their data, which come again when somebody deletes them. */
export function persistentNode(cast: readonly Player[]): Scenario {
  return {
    name: `persistent node of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const { client } = stage
      await client.create(path)
      for (const [i, player] of cast.entries()) {
        const own = `${path}/node${i}`
        const hand = await stage.hand(player, 'stayer')
        hand.tell('stay', own, 'up')
        await hand.hear('stays')
        const { czxid: before } = await shownAs('up', client, own)
        await client.delete(own)
        const isBack = async (): Promise<boolean> =>
          ((await client.exists(own))?.czxid ?? before) > before
        await until(`${own} does not come again`, comebackMsMax, isBack)
        await shownAs('up', client, own)
      }
    },
  }
}

async function shownAs(wanted: string, client: Client, path: string): Promise<Stat> {
  const { data, stat } = await client.get(path, { codec: text })
  if (data !== wanted || stat.ephemeralOwner === 0n)
    throw new Error(`VIOLATION: ${path} has ${data}, owned by ${stat.ephemeralOwner}`)
  return stat
}

/** A member that wants the name of another waits until the other's session is over. */
export function persistentNodeOfTheDead(first: Player, next: Player): Scenario {
  return {
    name: `persistent node: ${next} gets the name of ${first}, who is killed`,
    cast: [first, next],
    async play(stage, path) {
      const victim = await stage.hand(first, 'victim')
      const heir = await stage.hand(next, 'heir')
      victim.tell('stay', path, first)
      await victim.hear('stays')
      heir.tell('stay', path, next)
      await stage.client.sync()
      await shownAs(first, stage.client, path)
      await stage.kill(first)
      await heir.hear('stays')
      await shownAs(next, stage.client, path)
    },
  }
}

/** The nodes of all are alike: the data, and one child by the same name, which has the TTL. */
export function persistentTtlNode(cast: readonly Player[]): Scenario {
  return {
    name: `persistent TTL node of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const keepers = await hands(stage, cast, 'keeper')
      await stage.client.create(path)
      const found = await Promise.all(
        keepers.map(async (hand, i) => {
          const own = `${path}/kept${i}`
          hand.tell('keep', own, 'up', 20_000)
          await hand.hear('kept')
          return layoutOf(stage, own)
        }),
      )
      if (new Set(found).size > 1) throw new Error(`VIOLATION: ${found.join(' is not ')}`)
    },
  }
}

async function layoutOf({ client }: Stage, path: string): Promise<string> {
  // The child may come after the node.
  let children: readonly string[] = []
  while (children.length === 0) children = await client.children(path)
  const { data } = await client.get(path)
  // The data of the child has no meaning: with Curator it is the address of the client.
  return `${Buffer.from(data).toString()}, with ${children.join()}`
}

/** All offer a service, and each finds all who do. */
export function discovery(cast: readonly Player[]): Scenario {
  return {
    name: `service discovery of ${cast.join(', ')}`,
    cast,
    async play(stage, path) {
      const servers = await hands(stage, cast, 'server')
      for (const [i, hand] of servers.entries()) hand.tell('offer', path, 'web', `id${i}`, 8000 + i)
      await Promise.all(servers.map((hand) => hand.hear('offered')))
      for (const hand of servers) hand.tell('discover', path, 'web', servers.length)
      await all(servers, 'found', servers.map((_, i) => `id${i}:${8000 + i}`).join(' '))
    },
  }
}

function hands(stage: Stage, cast: readonly Player[], name: string): Promise<Hand[]> {
  return Promise.all(cast.map((player) => stage.hand(player, name)))
}

async function itemsOf(hand: Hand): Promise<string[]> {
  const items: string[] = []
  for (;;) {
    const [word, value = ''] = await hand.next()
    if (word === 'done') return items
    if (word !== 'item') throw new Error(`${hand.name} said '${word} ${value}'`)
    items.push(value)
  }
}

async function all(listeners: readonly Hand[], word: string, wanted: string): Promise<void> {
  for (const hand of listeners) {
    const heard = (await hand.hear(word)).join(' ')
    if (heard !== wanted) throw new Error(`VIOLATION: ${hand.name} sees ${heard}, not ${wanted}`)
  }
}
