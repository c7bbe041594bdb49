import { acl, json, type Client } from '@zabra/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied, outlived, roundTrips } from '../test/support/trouble.ts'
import type { CommitForm } from './commit-votes.ts'
import { TwoPhaseCommit } from './two-phase-commit.ts'

const fixture = useServer()
const codec = json<{ amount: number }>()

function commitOf(client: Client, path: string): TwoPhaseCommit<{ amount: number }> {
  return new TwoPhaseCommit(client, path, { codec })
}

const proposal = { amount: 5 }
const sites = ['a', 'b', 'c']

const clients = (count: number): Promise<Client[]> =>
  Promise.all(Array.from({ length: count }, () => fixture.open()))

describe.each<CommitForm>(['everyone', 'coordinator'])('with votes counted by: %s', (form) => {
  const at = (name: string): string => `/${form}/${name}`

  test('all agree, all commit, and then the transaction can be deleted', async () => {
    const [proposer, ...rest] = await clients(4)
    const path = at('agreed')
    const commit = await commitOf(proposer!, path).propose(proposal, { sites, form })
    const decided = commit.decision()
    const outcomes = await Promise.all(
      rest.map(async (client, i) => {
        await using site = await commitOf(client, path).join(sites[i]!)
        expect(site.proposal).toEqual(proposal)
        expect(await site.vote('commit')).toBe('commit')
        const decision = await site.decision()
        await site.acknowledge(decision)
        return decision
      }),
    )
    expect([await decided, ...outcomes]).toEqual(Array(4).fill('commit'))
    await commit.forget()
    expect(await proposer!.exists(path)).toBeUndefined()
  })

  test('one refuses, and all abort without waiting for the others', async () => {
    const [proposer, a, b] = await clients(3)
    const path = at('refused')
    const commit = await commitOf(proposer!, path).propose(proposal, { sites, form })
    const decided = commit.decision()
    const first = await commitOf(a!, path).join('a')
    const second = await commitOf(b!, path).join('b')
    await first.vote('commit')
    const waiting = first.decision()
    expect(await second.vote('abort')).toBe('abort')
    expect([await waiting, await second.decision(), await decided]).toEqual([
      'abort',
      'abort',
      'abort',
    ])
    await commit.forget()
    // A transaction that no longer exists was aborted.
    expect(await second.decision()).toBe('abort')
    expect(await first.vote('commit')).toBe('abort')
  })

  test('a site that fails before its vote makes all abort, and cannot vote afterwards', async () => {
    const [proposer, a, b] = await clients(3)
    const path = at('failed-site')
    const two = ['a', 'b']
    const commit = await commitOf(proposer!, path).propose(proposal, { sites: two, form })
    const decided = commit.decision()
    const first = await commitOf(a!, path).join('a')
    const second = await commitOf(b!, path).join('b')
    await first.vote('commit')
    const waiting = first.decision()
    await expire(b!, fixture.connectString)
    expect([await waiting, await decided]).toEqual(['abort', 'abort'])
    await b!.connected()
    expect(await second.vote('commit')).toBe('abort')
    expect(await second.decision()).toBe('abort')
  })

  test('a site that fails after its vote learns the outcome when it comes back', async () => {
    const [proposer, a, b] = await clients(3)
    const path = at('in-doubt')
    const two = ['a', 'b']
    const commit = await commitOf(proposer!, path).propose(proposal, { sites: two, form })
    const decided = commit.decision()
    const first = await commitOf(a!, path).join('a')
    await first.vote('commit')
    await a!.close()
    const second = await commitOf(b!, path).join('b')
    await second.vote('commit')
    expect([await second.decision(), await decided]).toEqual(['commit', 'commit'])
    await second.acknowledge('commit')
    const again = await commitOf(await fixture.open(), path).join('a')
    expect(await again.vote('abort')).toBe('commit')
    expect(await again.decision()).toBe('commit')
    const forgotten = commit.forget()
    expect(await proposer!.exists(path)).toBeDefined()
    await again.acknowledge('commit')
    await forgotten
  })

  test('a site that never comes is given up if configured', async () => {
    const [proposer, a] = await clients(2)
    const path = at('never')
    const two = ['a', 'b']
    const commit = await commitOf(proposer!, path).propose(proposal, { sites: two, form })
    const first = await commitOf(a!, path).join('a')
    await first.vote('commit')
    const waiting = first.decision()
    await expect(commit.decision({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'timeout' })
    expect(await commit.decision({ abortAfterMs: 20 })).toBe('abort')
    expect(await waiting).toBe('abort')
    const late = await commitOf(proposer!, path).join('b')
    expect(await late.vote('commit')).toBe('abort')
  })

  test('the proposer may fail at once: the sites decide without it', async () => {
    const [proposer, ...rest] = await clients(4)
    const path = at('failed-proposer')
    const commit = await commitOf(proposer!, path).propose(proposal, { sites, form })
    commit.decision().catch(() => {})
    const joined = await Promise.all(
      rest.map((client, i) => commitOf(client, path).join(sites[i]!)),
    )
    await joined[0]!.vote('commit')
    const decisions = joined.map((site) => site.decision())
    await proposer!.close()
    await joined[1]!.vote('commit')
    await joined[2]!.vote('commit')
    expect(await Promise.all(decisions)).toEqual(Array(3).fill('commit'))
    const heir = await commitOf(rest[0]!, path).resume()
    expect(await heir.decision()).toBe('commit')
  })

  test('only the decision can be acknowledged', async () => {
    const client = await fixture.open()
    const two = ['a', 'b']
    const propose = async (path: string) => {
      const commit = await commitOf(client, path).propose(proposal, { sites: two, form })
      const [a, b] = [
        await commitOf(client, path).join('a'),
        await commitOf(client, path).join('b'),
      ]
      return { a, b, decisions: () => Promise.all([commit, a, b].map((one) => one.decision())) }
    }
    const agreed = await propose(at('acknowledged'))
    await agreed.a.vote('commit')
    await expect(agreed.a.acknowledge('commit')).rejects.toThrow('nothing is decided yet')
    await expect(agreed.b.acknowledge('abort')).rejects.toThrow(TypeError)
    await agreed.b.vote('commit')
    expect(await agreed.a.decision()).toBe('commit')
    await expect(agreed.b.acknowledge('abort')).rejects.toThrow("the decision is 'commit'")
    expect(await agreed.decisions()).toEqual(['commit', 'commit', 'commit'])
    await agreed.b.acknowledge('commit')
    await agreed.b.acknowledge('commit')
    expect(await agreed.decisions()).toEqual(['commit', 'commit', 'commit'])

    const refused = await propose(at('acknowledged-abort'))
    await refused.a.vote('abort')
    expect(await refused.b.decision()).toBe('abort')
    await expect(refused.b.acknowledge('commit')).rejects.toThrow("the decision is 'abort'")
    await refused.b.acknowledge('abort')
    expect(await refused.decisions()).toEqual(['abort', 'abort', 'abort'])
  })

  test('one abort outweighs everything else', async () => {
    const client = await fixture.open()
    const path = at('outweighed')
    await commitOf(client, path).propose(proposal, { sites: ['a', 'b'], form })
    await client.set(`${path}/sites/a`, 'abort')
    await client.set(`${path}/sites/b`, 'committed')
    expect(await (await commitOf(client, path).resume()).decision()).toBe('abort')
  })

  test('votes that cannot be decoded reject the decision', async () => {
    const client = await fixture.open()
    const path = at('uncountable')
    const commit = await commitOf(client, path).propose(proposal, { sites: ['a', 'b'], form })
    const site = await commitOf(client, path).join('a')
    const decided = commit.decision().catch((error: unknown) => error)
    // By then it watches the votes.
    await roundTrips(client, 20)
    await client.set(path, 'garbage')
    await site.vote('commit')
    expect(await decided).toMatchObject({ code: 'codec' })
  })

  test('a site may give up sites that never come', async () => {
    const [proposer, a] = await clients(2)
    const path = at('given-up-by-site')
    await commitOf(proposer!, path).propose(proposal, { sites: ['a', 'b'], form })
    const site = await commitOf(a!, path).join('a')
    await site.vote('commit')
    expect(await site.decision({ abortAfterMs: 20 })).toBe('abort')
    const late = await commitOf(proposer!, path).join('b')
    expect(await late.vote('commit')).toBe('abort')
  })

  test('a vote with a lost reply counts, and connections may break at any time', async () => {
    const [proposer, b] = await clients(2)
    const { client: a, proxy } = await openProxied(fixture.connectString)
    const path = at('broken')
    const two = ['a', 'b']
    const commit = await commitOf(proposer!, path).propose(proposal, { sites: two, form })
    const decided = commit.decision()
    const first = await commitOf(a, path).join('a')
    const second = await commitOf(b!, path).join('b')
    proxy.hold({ direction: 'toClient' })
    const voted = first.vote('commit')
    await new Promise((resolve) => setImmediate(resolve))
    proxy.reset()
    await proxy.heal()
    expect(await voted).toBe('commit')
    const waiting = first.decision()
    proxy.reset()
    await second.vote('commit')
    expect([await waiting, await decided]).toEqual(['commit', 'commit'])
  })
})

test('with a coordinator the sites watch only it and the outcome', async () => {
  const [proposer, b] = await clients(2)
  const a = await fixture.open()
  const path = '/quiet'
  const two = ['a', 'b']
  const options = { sites: two, form: 'coordinator' } as const
  const commit = await commitOf(proposer!, path).propose(proposal, options)
  const decided = commit.decision()
  const first = await commitOf(a, path).join('a')
  await first.vote('commit')
  const waiting = first.decision()
  await a.sync()
  const before = a.stats().notifications
  const second = await commitOf(b!, path).join('b')
  await second.vote('commit')
  await decided
  expect(await waiting).toBe('commit')
  // The outcome, and that the coordinator is done; neither joins nor votes.
  expect(a.stats().notifications - before).toBeLessThanOrEqual(2)
})

test('giving up proposing does not keep the sites waiting for a coordinator', async () => {
  const [proposer, a] = await clients(2)
  const path = '/unproposed'
  const controller = new AbortController()
  const options = { sites: ['a'], form: 'coordinator', signal: controller.signal } as const
  const proposed = commitOf(proposer!, path).propose(proposal, options)
  // It is on its way by now.
  controller.abort(new Error('too long'))
  await expect(proposed).rejects.toThrow('too long')
  await proposer!.sync()
  const site = await commitOf(a!, path).join('a')
  await site.vote('commit')
  expect(await site.decision({ timeoutMs: 3000 })).toBe('commit')
})

test.each([0, 30])('a proposer that gives up after %d ms lets the sites coordinate', async (ms) => {
  const [proposer, a] = await clients(2)
  const path = `/given-up-proposer-${ms}`
  const options = { sites: ['a'], form: 'coordinator' } as const
  const commit = await commitOf(proposer!, path).propose(proposal, options)
  await expect(commit.decision({ timeoutMs: ms })).rejects.toMatchObject({ code: 'timeout' })
  const site = await commitOf(a!, path).join('a')
  await site.vote('commit')
  expect(await site.decision()).toBe('commit')
})

test.each(['at once', 'later'])(
  'a site that gives up coordinating %s lets others do it',
  async (when) => {
    const [proposer, a, b] = await clients(3)
    const path = `/uncoordinated-${when.replace(' ', '-')}`
    const options = { sites: ['a', 'b'], form: 'coordinator' } as const
    await commitOf(proposer!, path).propose(proposal, options)
    const first = await commitOf(a!, path).join('a')
    const second = await commitOf(b!, path).join('b')
    await proposer!.close()
    await first.vote('commit')
    const controller = new AbortController()
    const create = a!.create.bind(a!)
    a!.create = (...args: Parameters<typeof create>) => {
      a!.create = create
      const created = create(...args)
      if (when === 'at once') controller.abort(new Error('too long'))
      else void created.then(() => controller.abort(new Error('too long')))
      return created
    }
    await expect(first.decision({ signal: controller.signal })).rejects.toThrow('too long')
    await second.vote('commit')
    expect(await second.decision({ timeoutMs: 3000 })).toBe('commit')
  },
)

test('voting does not wait for a connection past the deadline', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const path = '/voted'
  await commitOf(client, path).propose(proposal, { sites: ['a'] })
  const site = await commitOf(client, path).join('a')
  const remove = client.delete.bind(client)
  client.delete = (...args: Parameters<typeof remove>) => {
    proxy.cut()
    return remove(...args)
  }
  const late = { code: 'timeout', mayHaveHappened: true }
  await expect(site.vote('commit', { timeoutMs: 500 })).rejects.toMatchObject(late)
  client.delete = remove
  await proxy.heal()
  expect(await site.vote('abort')).toBe('commit')
})

test('a coordinator that has decided says so without waiting for a connection', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const options = { sites: ['a'], form: 'coordinator' } as const
  const commit = await commitOf(client, '/decided').propose(proposal, options)
  const site = await commitOf(client, '/decided').join('a')
  await site.vote('commit')
  const remove = client.delete.bind(client)
  client.delete = (...args: Parameters<typeof remove>) => {
    proxy.cut()
    return remove(...args)
  }
  expect(await commit.decision()).toBe('commit')
})

test.each([['a/b'], [''], ['..'], ['a', 'a']])(
  'invalid site names are refused: %j, %j',
  async (...names) => {
    const client = await fixture.open()
    const proposed = commitOf(client, '/named').propose(proposal, { sites: names })
    await expect(proposed).rejects.toThrow(TypeError)
    expect(await client.exists('/named')).toBeUndefined()
  },
)

test('an invalid vote is refused', async () => {
  const client = await fixture.open()
  await commitOf(client, '/no-vote').propose(proposal, { sites: ['a'] })
  const site = await commitOf(client, '/no-vote').join('a')
  // @ts-expect-error: as from JavaScript.
  await expect(site.vote('yes')).rejects.toThrow("'yes' is neither")
  // @ts-expect-error: as from JavaScript.
  await expect(site.acknowledge('committed')).rejects.toThrow(TypeError)
  expect(await site.vote('commit')).toBe('commit')
})

test('a transaction that may not be read is refused, not missing', async () => {
  const client = await fixture.open()
  await commitOf(client, '/unread').propose(proposal, { sites: ['a'] })
  await client.setAcl('/unread', acl.world('cdwa'))
  onTestFinished(async () => void (await client.setAcl('/unread', acl.open)))
  const refused = { reason: 'noAuth', path: '/unread' }
  await expect(commitOf(client, '/unread').resume()).rejects.toMatchObject(refused)
  await expect(commitOf(client, '/unread').join('a')).rejects.toMatchObject(refused)
})

test('past its deadline, a write says that it may have happened', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const path = '/written'
  const commit = await commitOf(client, path).propose(proposal, { sites: ['a'] })
  const site = await commitOf(client, path).join('a')
  await site.vote('commit')
  const late = { code: 'timeout', mayHaveHappened: true }
  expect(await outlived(proxy, (limits) => site.acknowledge('commit', limits))).toMatchObject(late)
  await client.connected()
  await site.acknowledge('commit')
  expect(await outlived(proxy, (limits) => commit.forget(limits))).toMatchObject(late)
})

test('a proposal with a lost reply exists once, and a second one is refused', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const observer = await fixture.open()
  await client.ensure('/proposed')
  proxy.hold({ direction: 'toClient' })
  const proposed = commitOf(client, '/proposed/tx').propose(proposal, { sites })
  await expect.poll(() => observer.exists('/proposed/tx')).toBeDefined()
  proxy.reset()
  await proxy.heal()
  await proposed
  await expect(
    commitOf(observer, '/proposed/tx').propose(proposal, { sites }),
  ).rejects.toMatchObject({ reason: 'nodeExists' })
  await expect(commitOf(client, '/proposed/tx').join('stranger')).rejects.toMatchObject({
    reason: 'noNode',
  })
})

test.each(['create', 'set'] as const)(
  'giving up joining leaves no site behind, even if the reply to a %s is lost',
  async (operation) => {
    const path = `/given-up-${operation}`
    const other = await fixture.open()
    await commitOf(other, path).propose(proposal, { sites: ['a'] })
    const { client, proxy } = await openProxied(fixture.connectString, {
      sessionTimeoutMs: longerThanTests,
    })
    const original = client[operation].bind(client) as (...args: unknown[]) => Promise<never>
    client[operation] = (...args: unknown[]): Promise<never> => {
      proxy.hold({ direction: 'toClient' })
      return original(...args)
    }
    const joining = commitOf(client, path).join('a', { timeoutMs: 300 })
    const late = expect(joining).rejects.toMatchObject({ code: 'timeout' })
    await expect.poll(() => other.children(`${path}/alive`)).toEqual(['a'])
    await late
    // Without the reply to the create it does not know of the node, and cannot delete it yet.
    if (operation === 'create') expect(await other.children(`${path}/alive`)).toEqual(['a'])
    proxy.reset()
    await proxy.heal()
    await expect.poll(() => other.children(`${path}/alive`)).toEqual([])
  },
)
