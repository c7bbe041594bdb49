/** Members that come, go and change their roles while the ensemble runs. */
import { errorCodes, GetDataResponse, Reader } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TestEnsemble, type Said } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import { parseMembership } from '../membership/membership.ts'

let ensemble: TestEnsemble
let said: Said[]

beforeEach(() => {
  said = []
})

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

const rules = { enforceQuota: false, reconfigEnabled: true, closeSessionPaths: true }
const three = { 1: 'participant', 2: 'participant', 3: 'participant' } as const

async function start(
  members: Record<string, 'participant' | 'observer'> = three,
  given: { rules?: object; skipAcl?: boolean } = {},
): Promise<TestServer> {
  ensemble = new TestEnsemble(members, { rules: { ...rules, ...given.rules } })
  ensemble.skipAcl = given.skipAcl ?? true
  ensemble.onSaid = (one) => said.push(one)
  await ensemble.start(...Object.keys(members).map(Number))
  await ensemble.serving(Object.keys(members).length)
  return ensemble.leader
}

/** A server that is no member, up to date with the leader. */
async function joiner(id: number, role?: 'participant' | 'observer'): Promise<TestServer> {
  const server = ensemble.addStranger(id, role)
  await server.start()
  await ensemble.until(`server ${id} follows`, () => server.isServing)
  return server
}

interface Change {
  joining?: string
  leaving?: string
  members?: string
  from?: bigint
}

function ask(client: TestClient, { joining, leaving, members, from = -1n }: Change): number {
  return client.ask('reconfig', {
    joiningServers: joining ?? null,
    leavingServers: leaving ?? null,
    newMembers: members ?? null,
    curConfigId: from,
  })
}

async function reconfig(client: TestClient, change: Change): Promise<number> {
  const xid = ask(client, change)
  const find = (): { err: number } | undefined => client.replies.find((one) => one.xid === xid)
  await ensemble.until('reconfig is answered', () => find() !== undefined || client.isClosed)
  return find()?.err ?? -4
}

const lineOf = (id: number, role = 'participant'): string =>
  `server.${id}=s${id}:1:2:${role};0.0.0.0:${2180 + id}`

function textOf(server: TestServer): string {
  return new TextDecoder().decode(server.peer!.db.configText ?? undefined)
}

function membersOf(server: TestServer): string {
  return [...server.config.servers].map(([id, { role }]) => `${id}${role[0]}`).join(' ')
}

const all = (): TestServer[] => [...ensemble.servers.values()]

describe('a configuration', () => {
  test('gets its first version from the epoch in which servers agree on it', async () => {
    const leader = await start()
    await ensemble.until('all know', () => all().every(({ config }) => config.version !== 0n))
    expect(textOf(leader)).toBe(
      'server.1=s1:1:2:participant\nserver.2=s2:1:2:participant\n' +
        'server.3=s3:1:2:participant\nversion=100000000',
    )
    leader.crash()
    await ensemble.until('another leads', () => all().some((one) => one.isLeading))
    expect(textOf(ensemble.leader)).toContain('version=100000000')
  })

  test('keeps version 0 if it cannot be changed', async () => {
    const leader = await start(three, { rules: { reconfigEnabled: false } })
    expect(textOf(leader)).toContain('version=0')
    const client = await leader.connect()
    expect(await reconfig(client, { leaving: '1' })).toBe(errorCodes.reconfigDisabled)
  })
})

describe('a server that joins', () => {
  test('follows without a vote until it is a member', async () => {
    const leader = await start()
    const fourth = await joiner(4)
    expect(fourth.peer!.state).toBe('following')
    const client = await leader.connect()
    // Two of three are enough, whatever the fourth says.
    const [other] = ensemble.followers.filter(({ id }) => id !== 4n) as [TestServer]
    ensemble.isolate(other)
    ensemble.hold(fourth, leader)
    expect(await client.create('/a')).toBe(0)
  })

  test('is a member once a reconfig says so, everywhere', async () => {
    const leader = await start()
    await joiner(4)
    const client = await ensemble.followers[0]!.connect()
    expect(await reconfig(client, { joining: lineOf(4) })).toBe(0)
    const reply = client.replies.at(-1)!
    const { data, stat } = GetDataResponse.read(new Reader(reply.body))
    expect(new TextDecoder().decode(data!)).toBe(
      'server.1=s1:1:2:participant\nserver.2=s2:1:2:participant\n' +
        'server.3=s3:1:2:participant\nserver.4=s4:1:2:participant;0.0.0.0:2184\nversion=100000002',
    )
    expect(stat).toMatchObject({ mzxid: 0x1_0000_0002n, version: -1 })
    await ensemble.until('all know', () => all().every((one) => membersOf(one) === '1p 2p 3p 4p'))
    for (const server of all()) expect(textOf(server)).toBe(textOf(leader))
    expect(ensemble.leader).toBe(leader)
    // Of four, three are needed from now on.
    for (const { id } of ensemble.followers.slice(0, 2)) ensemble.server(Number(id)).crash()
    await ensemble.until('it leads no longer', () => !leader.isLeading)
  })

  test('votes in the next election', async () => {
    const leader = await start()
    const fourth = await joiner(4)
    const client = await leader.connect()
    expect(await reconfig(client, { joining: lineOf(4) })).toBe(0)
    await ensemble.until('it knows', () => membersOf(fourth) === '1p 2p 3p 4p')
    leader.crash()
    await ensemble.until('another leads', () => all().some((one) => one.isLeading))
    expect(ensemble.leader).toBe(fourth)
  })

  test('comes back without a vote if it crashes before it is a member', async () => {
    await start()
    const fourth = await joiner(4)
    fourth.crash()
    await fourth.start()
    await ensemble.until('it follows', () => fourth.isServing)
  })

  test('is an observer if the reconfig says so, and connects again as one', async () => {
    const leader = await start()
    const fourth = await joiner(4)
    const client = await leader.connect()
    expect(await reconfig(client, { joining: lineOf(4, 'observer') })).toBe(0)
    await ensemble.until('it observes', () => fourth.peer!.state === 'observing')
    await ensemble.until('it serves', () => fourth.isServing)
    expect(await client.create('/a')).toBe(0)
    await ensemble.until('it hears of it', () => fourth.paths.includes('/a'))
  })
})

test('an ensemble of one grows, and shrinks to another one', async () => {
  const first = await start({ 1: 'participant' }, { rules: { standaloneEnabled: false } })
  const second = await joiner(2)
  const client = await first.connect()
  expect(await reconfig(client, { joining: lineOf(2) })).toBe(0)
  expect(await reconfig(client, { leaving: '1' })).toBe(0)
  await ensemble.until('the second leads', () => second.isLeading)
  await ensemble.until('the first follows', () => first.isServing)
  expect(membersOf(second)).toBe('2p')
  first.crash()
  const alone = await second.connect()
  expect(await alone.create('/a')).toBe(0)
})

describe('a change of roles', () => {
  test('makes an observer a voter, and a voter an observer', async () => {
    const leader = await start({ ...three, 4: 'observer' })
    const client = await leader.connect()
    expect(await reconfig(client, { joining: lineOf(4) })).toBe(0)
    const fourth = ensemble.server(4)
    await ensemble.until('it follows', () => fourth.peer!.state === 'following' && fourth.isServing)
    expect(said.some(({ name }) => name === 'informAndActivate')).toBe(true)
    const [other] = ensemble.followers.filter(({ id }) => id !== 4n) as [TestServer]
    expect(await reconfig(client, { joining: lineOf(Number(other.id), 'observer') })).toBe(0)
    await ensemble.until('it observes', () => other.peer!.state === 'observing' && other.isServing)
    expect(ensemble.leader).toBe(leader)
  })

  test('is refused while those who would decide are not up to date', async () => {
    const leader = await start(
      { 1: 'participant', 2: 'observer', 3: 'observer' },
      {
        rules: { standaloneEnabled: false },
      },
    )
    const client = await leader.connect()
    expect(await reconfig(client, { joining: `${lineOf(2)},${lineOf(3)}` })).toBe(
      errorCodes.newConfigNoQuorum,
    )
    expect(await reconfig(client, { joining: lineOf(4) })).toBe(errorCodes.newConfigNoQuorum)
  })
})

describe('a server that leaves', () => {
  test('goes on without a vote', async () => {
    const leader = await start()
    const client = await leader.connect()
    const [gone, stays] = ensemble.followers as [TestServer, TestServer]
    expect(await reconfig(client, { leaving: String(gone.id) })).toBe(0)
    await ensemble.pass(1000)
    expect(gone.isServing).toBe(true)
    stays.crash()
    await ensemble.until('no quorum is left', () => !leader.isLeading)
  })

  test('and is the leader hands over to one that has all it had', async () => {
    const leader = await start()
    const client = await leader.connect()
    await client.create('/a')
    expect(await reconfig(client, { leaving: String(leader.id) })).toBe(0)
    await ensemble.until('another leads', () =>
      all().some((one) => one.isLeading && one !== leader),
    )
    const successor = ensemble.leader
    await ensemble.until('the old one follows', () => leader.isServing)
    expect(leader.peer!.state).toBe('following')
    // Nobody had to look for a leader.
    for (const { events } of all()) {
      const last = events.findLastIndex(({ type }) => type === 'roleEnded')
      expect(events.slice(last).map(({ type }) => type)).toContain('appointed')
      expect(events.slice(last).map(({ type }) => type)).not.toContain('looking')
    }
    const elsewhere = await successor.connect()
    expect(await elsewhere.create('/b')).toBe(0)
    for (const server of all()) await ensemble.until('b', () => server.paths.includes('/b'))
    expect(said.filter(({ name }) => name === 'commitAndActivate')).toHaveLength(2)
  })

  test('comes back after a crash, without a vote', async () => {
    const leader = await start()
    await joiner(4)
    const client = await leader.connect()
    const [gone] = ensemble.followers.filter(({ id }) => id !== 4n) as [TestServer]
    expect(await reconfig(client, { joining: lineOf(4), leaving: String(gone.id) })).toBe(0)
    await ensemble.pass(500)
    gone.crash()
    await gone.start()
    await ensemble.until('it follows', () => gone.isServing)
    expect(gone.config.servers.has(gone.id)).toBe(true)
    expect(gone.peer!.state).toBe('following')
  })
})

describe('a change needs a quorum of both', () => {
  /** Four, of whom the fourth has no vote yet; proposals of the leader do not reach these. */
  async function proposedTo(whom: number[], change: Change): Promise<TestClient> {
    const leader = ensemble.leader
    const client = await leader.connect()
    await ensemble.pass(100)
    for (const server of all()) {
      if (server !== leader && !whom.includes(Number(server.id))) ensemble.hold(leader, server)
    }
    ask(client, change)
    await ensemble.settle()
    return client
  }

  test('and is not committed by the old servers alone', async () => {
    const leader = await start()
    await joiner(4)
    await joiner(5)
    await joiner(6)
    const old = [1, 2, 3].filter((id) => BigInt(id) !== leader.id)
    const members = [Number(leader.id), 4, 5, 6].map((id) => lineOf(id)).join('\n')
    const client = await proposedTo(old, { members })
    expect(client.replies).toHaveLength(0)
    expect(membersOf(leader)).toBe('1p 2p 3p')
    ensemble.heal()
    await ensemble.until('it is answered', () => client.replies.length === 1)
    expect(client.replies[0]).toMatchObject({ err: 0 })
  })

  test('and is not committed by the new servers alone', async () => {
    const leader = await start()
    await joiner(4)
    await joiner(5)
    const members = [Number(leader.id), 4, 5].map((id) => lineOf(id)).join('\n')
    const client = await proposedTo([4, 5], { members })
    expect(client.replies).toHaveLength(0)
    ensemble.heal()
    await ensemble.until('it is answered', () => client.replies.length === 1)
  })

  test('and nothing behind it is committed with less', async () => {
    const leader = await start()
    await joiner(4)
    await joiner(5)
    const members = [Number(leader.id), 4, 5].map((id) => lineOf(id)).join('\n')
    const client = await proposedTo([4, 5], { members })
    client.askCreate('/behind')
    await ensemble.settle()
    expect(client.replies).toHaveLength(0)
    ensemble.heal()
    await ensemble.until('both are answered', () => client.replies.length === 2)
  })

  test('and a second one waits until the first is through', async () => {
    const leader = await start()
    await joiner(4)
    await joiner(5)
    const members = [Number(leader.id), 4, 5].map((id) => lineOf(id)).join('\n')
    const client = await proposedTo([4, 5], { members })
    const second = ask(client, { leaving: '2' })
    ensemble.heal()
    await ensemble.until('both are answered', () => client.replies.length === 2)
    expect(client.replies.at(-1)).toMatchObject({
      xid: second,
      err: errorCodes.reconfigInProgress,
    })
  })

  test('and one whose leader dies is completed by the next', async () => {
    const leader = await start()
    await joiner(4)
    const others = [1, 2, 3].filter((id) => BigInt(id) !== leader.id)
    // All log it; nobody but the leader learns that it is committed.
    const client = await proposedTo([...others, 4], { joining: lineOf(4) })
    for (const server of all()) if (server !== leader) ensemble.hold(leader, server)
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.until('another leads', () => all().some((one) => one.isLeading))
    const successor = ensemble.leader
    expect(membersOf(successor)).toBe('1p 2p 3p 4p')
    expect(client.isClosed || client.replies.length <= 1).toBe(true)
    await ensemble.serving(3)
    await leader.start()
    await ensemble.serving(4)
    for (const server of all()) expect(textOf(server)).toBe(textOf(successor))
  })

  test('and one that was committed holds, though no server could write down that it was', async () => {
    const leader = await start()
    for (const id of [4, 5, 6]) await joiner(id)
    await ensemble.pass(300)
    const before = new Map(all().map((server) => [server, server.config]))
    const client = await leader.connect()
    const members = [4, 5, 6].map((id) => lineOf(id)).join('\n')
    expect(await reconfig(client, { members })).toBe(0)
    await ensemble.serving(6)
    // Only the new members know later transactions.
    for (const id of [1, 2, 3]) ensemble.isolate(ensemble.server(id))
    const later = await ensemble.leader.connect()
    expect(await later.create('/late')).toBe(0)
    for (const server of all()) server.crash()
    for (const [server, config] of before) server.config = config
    ensemble.healWithLoss()
    await ensemble.start(1, 2, 3, 4, 5, 6)
    await ensemble.serving(6)
    expect(membersOf(ensemble.leader)).toBe('4p 5p 6p')
    for (const server of all()) expect(server.paths).toEqual(['/late'])
  })

  test('and after two that no server could write down, nothing is lost that the last members wrote', async () => {
    const leader = await start()
    for (const id of [4, 5]) await joiner(id)
    await ensemble.pass(300)
    const before = new Map(all().map((server) => [server, server.config]))
    const first = Number(leader.id)
    const [second, third] = [1, 2, 3].filter((id) => id !== first) as [number, number]
    const linesOf = (...ids: number[]): string => ids.map((id) => lineOf(id)).join('\n')
    const client = await leader.connect()
    expect(await reconfig(client, { members: linesOf(first, second, 4) })).toBe(0)
    await ensemble.serving(5)
    // Later transactions reach fewer and fewer servers, and always enough.
    for (const id of [second, third]) ensemble.isolate(ensemble.server(id))
    expect(await reconfig(client, { members: linesOf(first, 4, 5) })).toBe(0)
    await ensemble.pass(100)
    ensemble.isolate(leader)
    await ensemble.until('one of the last members leads', () =>
      [4, 5].some((id) => ensemble.server(id).isLeading),
    )
    const last = [4, 5].map((id) => ensemble.server(id)).find((server) => server.isLeading)!
    const later = await last.connect()
    expect(await later.create('/late')).toBe(0)
    await ensemble.pass(100)
    for (const server of all()) server.crash()
    for (const [server, config] of before) server.config = config
    ensemble.healWithLoss()

    // The files say that the first three decide, with the members of the last change in the logs.
    await ensemble.start(1, 2, 3, 5)
    await ensemble.pass(10_000)
    for (const server of all()) {
      if (server.isUp && server.isServing) expect(server.paths).toEqual(['/late'])
    }
    await ensemble.start(4)
    await ensemble.serving(5)
    expect(membersOf(ensemble.leader)).toBe(`${first}p 4p 5p`)
    for (const server of all()) expect(server.paths).toEqual(['/late'])
  })

  test('and one that only its leader has logged is forgotten with it', async () => {
    const leader = await start()
    await joiner(4)
    await proposedTo([], { leaving: '4', joining: lineOf(4) })
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.until('another leads', () => all().some((one) => one.isLeading))
    const client = await ensemble.leader.connect()
    expect(await client.create('/a')).toBe(0)
    await leader.start()
    await ensemble.until('it is back', () => leader.isServing)
    expect(textOf(leader)).toContain('version=100000000')
    expect(membersOf(leader)).toBe('1p 2p 3p')
  })
})

describe('a server that was away', () => {
  test('learns of the new members from the votes of the others', async () => {
    const leader = await start()
    await joiner(4)
    const [away, stays] = ensemble.followers.filter(({ id }) => id !== 4n) as [
      TestServer,
      TestServer,
    ]
    await ensemble.pass(300)
    away.crash()
    const client = await leader.connect()
    expect(await reconfig(client, { joining: lineOf(4) })).toBe(0)
    expect(await reconfig(client, { leaving: String(stays.id) })).toBe(0)
    await away.start()
    await ensemble.until('it follows', () => away.isServing)
    const left = [1, 2, 3, 4].filter((id) => BigInt(id) !== stays.id)
    expect([...away.config.servers.keys()]).toEqual(left.map(BigInt))
  })

  test('does not lead those who know a newer configuration', async () => {
    const leader = await start()
    await joiner(4)
    await joiner(5)
    await ensemble.pass(300)
    const [away, other] = ensemble.followers.filter(({ id }) => id < 4n) as [TestServer, TestServer]
    away.crash()
    const client = await leader.connect()
    const members = [Number(leader.id), 4, 5].map((id) => lineOf(id)).join('\n')
    expect(await reconfig(client, { members })).toBe(0)
    // Those of the old configuration are many again, but one of them knows better.
    for (const id of [4, 5]) ensemble.server(id).crash()
    leader.crash()
    other.crash()
    await away.start()
    await other.start()
    await ensemble.pass(10_000)
    expect(all().some((one) => one.isUp && one.isServing)).toBe(false)
    await ensemble.start(4, 5)
    await ensemble.until('the new ones lead', () => all().some((one) => one.isUp && one.isLeading))
    expect([4n, 5n]).toContain(ensemble.leader.id)
  })
})

describe('members in groups', () => {
  const groups = ['group.1=1:2:3', 'weight.1=1', 'weight.2=1', 'weight.3=1']

  async function startGrouped(): Promise<TestClient> {
    ensemble = new TestEnsemble(three, { rules })
    ensemble.skipAcl = true
    for (const server of all()) {
      const parsed = parseMembership([ensemble.text, ...groups].join('\n'))
      if ('problem' in parsed) throw new Error(parsed.problem)
      server.config = parsed.value
    }
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    return ensemble.leader.connect()
  }

  test('are not changed one by one: nobody would say in which group', async () => {
    const client = await startGrouped()
    expect(await reconfig(client, { leaving: '1' })).toBe(errorCodes.badArguments)
  })

  test('are named anew with their groups, and so become a plain majority', async () => {
    const client = await startGrouped()
    const lines = [lineOf(1), lineOf(2), lineOf(3)]
    const heavy = [...lines, 'group.1=1:2:3', 'weight.1=0', 'weight.2=0', 'weight.3=1']
    const { leader } = ensemble
    expect(leader.id).toBe(3n)
    expect(await reconfig(client, { members: heavy.join('\n') })).toBe(0)
    expect(textOf(leader)).toContain('weight.3=1')
    // Only the third counts: it commits alone.
    for (const follower of ensemble.followers) ensemble.isolate(follower)
    expect(await client.create('/alone')).toBe(0)
    ensemble.heal()
    expect(await reconfig(client, { members: lines.join(',') })).toBe(0)
    expect(textOf(leader)).not.toContain('weight')
  })
})

describe('a reconfig is refused', () => {
  test('for want of permission, last of all', async () => {
    const leader = await start(three, { skipAcl: false })
    const client = await leader.connect()
    expect(await reconfig(client, { leaving: '1' })).toBe(errorCodes.noAuth)
    expect(await reconfig(client, { leaving: '1,2' })).toBe(errorCodes.badArguments)
  })

  test.each<[string, Change, number]>([
    ['for another version', { leaving: '1', from: 7n }, errorCodes.badVersion],
    ['for a joiner without a client port', { joining: 'server.4=s4:1:2' }, errorCodes.badArguments],
    ['for a joiner that is none', { joining: 'server.4' }, errorCodes.badArguments],
    [
      'for a joiner without a number',
      { joining: 'server.x=s4:1:2;3' },
      errorCodes.marshallingError,
    ],
    ['for a joiner below zero', { joining: 'server.-4=s4:1:2;3' }, errorCodes.badArguments],
    [
      'for a joiner that could not be read again',
      { joining: 'server.4=s4\nx:1:2;3' },
      errorCodes.badArguments,
    ],
    ['for a leaver without a number', { leaving: 'x' }, errorCodes.marshallingError],
    ['with less than two voters', { leaving: '1,2' }, errorCodes.badArguments],
    ['for what is no configuration', { members: 'server.1=nonsense' }, errorCodes.badArguments],
    ['for a key that has no place', { members: 'tickTime=5' }, errorCodes.badArguments],
    ['for an address of another server', { joining: 'server.4=s1:1:2;3' }, errorCodes.badArguments],
    [
      'where a quorum of the new members is not here',
      { members: ['server.1=s1:1:2;3', lineOf(8), lineOf(9)].join(',') },
      errorCodes.newConfigNoQuorum,
    ],
  ])('%s', async (_, change, error) => {
    const leader = await start()
    const client = await leader.connect()
    expect(await reconfig(client, change)).toBe(error)
    expect(await reconfig(client, { from: 0x1_0000_0000n })).toBe(0)
  })
})
