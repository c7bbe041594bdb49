/** The commands of contender.ts for recipes of shared state. */
import { text, type Client } from '@zabra/client'
import {
  Counter,
  ServiceDiscovery,
  Group,
  Party,
  PersistentNode,
  PersistentTtlNode,
  Queue,
  SharedCount,
} from '@zabra/recipes'

const timeoutMs = 60_000

export async function share(
  client: Client,
  name: string,
  [wish = '', path = '', ...args]: readonly string[],
  tell: (what: string) => void,
): Promise<void> {
  switch (wish) {
    case 'count':
      return tell(`counted ${await count(client, path, args)}`)
    case 'put': {
      await using queue = new Queue(client, path, { codec: text })
      for (let number = 0; number < Number(args[0]); number++) await queue.put(`${name}:${number}`)
      return tell('done')
    }
    case 'consume': {
      await using queue = new Queue(client, path, { codec: text })
      for (let left = Number(args[0]); left > 0; left--) {
        await using item = await queue.take({ timeoutMs })
        tell(`item ${item.value}`)
        await item.complete()
      }
      return tell('done')
    }
    case 'take': {
      const item = await new Queue(client, path, { codec: text }).take({ timeoutMs })
      return tell(`item ${item.value}`)
    }
    case 'join':
      await new Group(client, path, { codec: text }).join(args[1]!, { name: args[0]!, timeoutMs })
      return tell('joined')
    case 'members': {
      await using group = await new Group(client, path, { codec: text }).watch()
      const all = await group.until(({ size }) => size === Number(args[0]), { timeoutMs })
      const lines = [...all.values()].map((member) => `${member.name}=${member.data}`)
      return tell(`members ${lines.toSorted().join(' ')}`)
    }
    case 'attend':
      await new Party(client, path).join(args[0], { timeoutMs })
      return tell('attending')
    case 'guests': {
      await using guests = await new Party(client, path).watch()
      const all = await guests.until(({ length }) => length === Number(args[0]), { timeoutMs })
      return tell(`guests ${all.join(' ')}`)
    }
    case 'add': {
      await using shared = new SharedCount(client, path)
      for (let left = Number(args[0]); left > 0;) {
        const seen = await shared.get()
        if ((await shared.compareAndSet(seen, seen.value + 1)) !== undefined) left--
      }
      return tell('done')
    }
    case 'keep':
      await PersistentTtlNode.open(client, path, args[0]!, { codec: text, ttlMs: Number(args[1]) })
      return tell('kept')
    case 'stay':
      await PersistentNode.open(client, path, args[0]!, { codec: text, timeoutMs })
      return tell('stays')
    case 'offer': {
      const [service = '', id = '', port = ''] = args
      const payload = { zone: 'eu' }
      const offer = { name: service, id, address: 'here', port: Number(port), payload }
      await new ServiceDiscovery(client, path).register(offer, { timeoutMs })
      return tell('offered')
    }
    case 'discover': {
      await using service = await new ServiceDiscovery(client, path).discover<{ zone: string }>(
        args[0]!,
      )
      const all = await service.until(({ length }) => length === Number(args[1]), { timeoutMs })
      if (all.some(({ payload }) => payload?.zone !== 'eu')) throw new Error('a payload is lost')
      return tell(`found ${all.map(({ id, port }) => `${id}:${port}`).join(' ')}`)
    }
    default:
      throw new Error(`what is ${wish}?`)
  }
}

async function count(client: Client, layout: string, args: readonly string[]): Promise<bigint> {
  const [path = '', times = ''] = args
  await using counter = new Counter(client, path, { layout: layout === 'int' ? 'int' : 'long' })
  let last = 0n
  for (let left = Number(times); left > 0; left--) last = await counter.increment()
  return last
}
