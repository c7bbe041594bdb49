/** The election machine around an election: answers, appointments, configurations. */
import { noVote, type Notification } from '@zabra/protocol'
import { describe, expect, test } from 'vitest'
import { parseMembership, verifierOf, type Membership } from '../../membership/membership.ts'
import { combine } from '../../membership/quorum.ts'
import { Election, type ElectionConfig, type ElectionOptions, type Envelope } from './election.ts'

function membership(...lines: string[]): Membership {
  const parsed = parseMembership(lines.join('\n'))
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const line = (id: number): string => `server.${id}=h${id}:2888:3888:participant`
const three = membership(line(1), line(2), line(3))

function electionOf(self: bigint, options: Partial<ElectionOptions> = {}): Election {
  return new Election({ self, config: { committed: three }, ...options })
}

const vote: Notification = {
  state: 'looking',
  leader: 2n,
  zxid: 5n,
  round: 1n,
  peerEpoch: 1n,
  version: 2,
  config: undefined,
}

/** Server 1 follows server 2. */
function follower(): Election {
  const election = electionOf(1n)
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.receive(2n, vote, 0)
  election.tick(200)
  expect(election.takeReady().decision).toEqual({
    state: 'following',
    leader: 2n,
    zxid: 5n,
    peerEpoch: 1n,
    round: 1n,
  })
  return election
}

/** Server 2, elected by server 1. */
function elected(options: Partial<ElectionOptions> = {}): Election {
  const election = electionOf(2n, options)
  election.start({ zxid: 5n, peerEpoch: 1n }, 0)
  election.receive(1n, vote, 0)
  election.tick(200)
  expect(election.takeReady().decision).toMatchObject({ state: 'leading' })
  return election
}

test('a looking server learns the leader, with the round of that election', () => {
  const election = follower()
  election.receive(3n, { ...vote, leader: 3n, round: 7n }, 300)
  expect(election.takeReady().send).toMatchObject([
    {
      to: 3n,
      notification: { state: 'following', leader: 2n, zxid: 5n, round: 1n, peerEpoch: 1n },
    },
  ])
})

test('a server that does not look gets no answer', () => {
  const election = follower()
  for (const state of ['following', 'leading', 'observing'] as const) {
    election.receive(3n, { ...vote, state }, 300)
  }
  expect(election.takeReady().send).toEqual([])
})

test('answers contain the epoch that the leader began', () => {
  const election = follower()
  election.established(2n)
  election.receive(3n, vote, 300)
  expect(election.takeReady().send).toMatchObject([{ notification: { peerEpoch: 2n } }])
})

test('a server without a vote gets the present vote and round, in any state', () => {
  const election = electionOf(1n)
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.takeReady()
  election.receive(9n, { ...vote, state: 'observing' }, 0)
  expect(election.takeReady().send).toMatchObject([
    { to: 9n, notification: { state: 'looking', leader: 1n, round: 1n } },
  ])
})

test('messages that come before a server knows its vote are processed afterwards', () => {
  const election = follower()
  election.pause()
  expect(election.wakeAtMs).toBeUndefined()
  election.receive(3n, { ...vote, leader: 3n, round: 1n }, 300)
  election.receive(3n, { ...vote, leader: 3n, zxid: 9n, round: 2n }, 300)
  election.receive(9n, vote, 300)
  expect(election.takeReady().send).toEqual([])
  election.start({ zxid: 5n, peerEpoch: 1n }, 400)
  election.tick(600)
  expect(election.takeReady().decision).toMatchObject({ leader: 3n, zxid: 9n, round: 2n })
})

test('a change of configuration can name the leader without an election', () => {
  const election = follower()
  election.appoint({ leader: 1n, zxid: 8n, peerEpoch: 1n })
  election.receive(3n, vote, 300)
  expect(election.takeReady()).toMatchObject({
    decision: undefined,
    send: [{ notification: { state: 'leading', leader: 1n, zxid: 8n, round: -1n } }],
  })
})

test('a vote for a server that has none is ignored', () => {
  const election = electionOf(1n)
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.takeReady()
  election.receive(2n, { ...vote, leader: 9n, round: 8n }, 0)
  expect(election.takeReady().send).toEqual([])
})

test('while a change of configuration is under way, both decide', () => {
  const lastSeen = membership(line(3), line(4), line(5), 'version=8')
  const election = electionOf(3n, { config: { committed: three, lastSeen } })
  election.start({ zxid: 9n, peerEpoch: 1n }, 0)
  const { send } = election.takeReady()
  expect(send.map(({ to }) => to)).toEqual([1n, 2n, 4n, 5n])
  const mine = { ...vote, leader: 3n, zxid: 9n }
  election.receive(1n, mine, 10)
  election.tick(210)
  expect(election.takeReady().decision).toBeUndefined()
  election.receive(4n, mine, 220)
  election.tick(420)
  expect(election.takeReady().decision).toMatchObject({ state: 'leading' })
})

const newer = membership(line(1), line(2), line(4), 'version=8')
const newerText = [line(1), line(2), line(4), 'version=8'].join('\n')

test('a newer configuration is handed out, and its message is not heard under the old one', () => {
  const election = electionOf(1n, { reconfigEnabled: true })
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.takeReady()
  election.receive(2n, { ...vote, config: newerText }, 0)
  expect(election.takeReady()).toEqual({ send: [], decision: undefined, newerConfig: newer })
  election.reconfigure({ committed: newer })
  election.start({ zxid: 0n, peerEpoch: 1n }, 10)
  expect(election.takeReady().send).toMatchObject([
    { to: 2n, notification: { config: newerText, round: 2n } },
    { to: 4n },
  ])
})

test('a newer version of the same members does not disturb the election', () => {
  const election = electionOf(1n, { reconfigEnabled: true })
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.receive(2n, { ...vote, config: [line(1), line(2), line(3), 'version=8'].join('\n') }, 0)
  election.tick(200)
  expect(election.takeReady()).toMatchObject({
    decision: { leader: 2n },
    newerConfig: { version: 8n },
  })
})

test.each([
  ['when that is not enabled', false, newerText],
  ['when it cannot be read', true, 'server.1=nonsense\nversion=8'],
  ['when it is not newer', true, newerText.replace('version=8', 'version=0')],
])('a configuration is not taken over %s', (_, reconfigEnabled, config) => {
  const election = electionOf(1n, { reconfigEnabled })
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.receive(2n, { ...vote, config }, 0)
  expect(election.takeReady().newerConfig).toBeUndefined()
})

test('a server that follows does not take over configurations from votes', () => {
  const election = electionOf(1n, { reconfigEnabled: true })
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.receive(2n, vote, 0)
  election.tick(200)
  election.takeReady()
  election.receive(3n, { ...vote, config: newerText }, 300)
  expect(election.takeReady().newerConfig).toBeUndefined()
})

test('one without a vote is answered when it asks, but its answers are no reason to answer', () => {
  const election = follower()
  const answers = (nowMs: number): number => {
    election.receive(9n, { ...vote, leader: 9n, round: 7n }, nowMs)
    return election.takeReady().send.length
  }
  expect([300, 301, 302, 399].map(answers)).toEqual([1, 0, 0, 0])
  // Each time it repeats its vote, it gets ours.
  expect([500, 900].map(answers)).toEqual([1, 1])
  // News is sent at once.
  election.established(2n)
  expect(answers(901)).toBe(1)
  election.start({ zxid: 0n, peerEpoch: 2n }, 902)
  election.takeReady()
  expect([902, 903].map(answers)).toEqual([1, 0])
})

test('an elected server learns that the others have changed their votes', () => {
  const election = elected()
  // A server that comes late votes for itself first: that alone means nothing.
  election.receive(3n, { ...vote, leader: 3n }, 300)
  election.receive(1n, { ...vote, leader: 3n }, 310)
  election.tick(809)
  expect(election.isDeserted).toBe(false)
  // Repeated votes do not renew it.
  election.receive(1n, { ...vote, leader: 3n }, 810)
  expect(election.isDeserted).toBe(true)
  election.receive(1n, { ...vote, leader: 2n, state: 'following' }, 811)
  expect(election.isDeserted).toBe(false)
})

test('an elected server waits for looking servers to follow', () => {
  const election = elected()
  for (const from of [1n, 3n]) election.receive(from, { ...vote, leader: 3n }, 300)
  const answers = election.takeReady().send
  expect(answers.map(({ notification }) => notification.state)).toEqual(['leading', 'leading'])
  election.tick(799)
  expect(election.isDeserted).toBe(false)
  election.joined(3n)
  election.tick(10_000)
  expect(election.isDeserted).toBe(false)
})

test('the election does not wait for servers that are down, unless they follow', () => {
  const gone = new Set([3n])
  const election = elected({ isGone: (server) => gone.has(server) })
  election.receive(1n, { ...vote, leader: 1n, round: 2n }, 300)
  election.tick(800)
  expect(election.isDeserted).toBe(true)
  election.joined(1n)
  expect(election.isDeserted).toBe(false)
  // Only its connection for elections is lost.
  gone.add(1n)
  election.reachabilityChanged(900)
  election.tick(5000)
  expect(election.isDeserted).toBe(false)
})

const four = membership(line(1), line(2), line(3), line(4), 'version=8')
const threeText = [line(1), line(2), line(3), 'version=0'].join('\n')

test('a voter of a proposed configuration leads if no quorum has as much', () => {
  const election = electionOf(4n, {
    config: { committed: three, lastSeen: four },
    reconfigEnabled: true,
  })
  election.start({ zxid: 6n, peerEpoch: 1n }, 0)
  election.receive(2n, vote, 0)
  expect(election.takeReady().send.at(-1)!.notification).toMatchObject({ leader: noVote, zxid: 6n })
  election.receive(1n, { ...vote, leader: 1n }, 0)
  const { send } = election.takeReady()
  expect(send.map(({ to }) => to)).toEqual([1n, 2n, 3n])
  expect(send[0]!.notification).toMatchObject({ leader: 4n, zxid: 6n })
})

test('and follows one that has', () => {
  const election = electionOf(4n, {
    config: { committed: three, lastSeen: four },
    reconfigEnabled: true,
  })
  election.start({ zxid: 5n, peerEpoch: 1n }, 0)
  for (const from of [2n, 3n]) election.receive(from, vote, 0)
  expect(election.takeReady().send.at(-1)!.notification).toMatchObject({ leader: 2n })
})

test('a candidate without a vote withdraws, and the others vote again', () => {
  const config = { committed: three, lastSeen: four }
  const fourth = electionOf(4n, { config, reconfigEnabled: true })
  fourth.start({ zxid: 5n, peerEpoch: 1n }, 0)
  fourth.takeReady()
  // It had believed to be a member when it was heard of.
  const second = electionOf(2n, { config, reconfigEnabled: true })
  second.start({ zxid: 5n, peerEpoch: 1n }, 0)
  second.receive(4n, { ...vote, leader: 4n }, 0)
  const named = second.takeReady().send.at(-1)!.notification
  expect(named).toMatchObject({ leader: 4n, round: 1n })

  fourth.receive(2n, named, 10)
  const { send } = fourth.takeReady()
  expect(send.map(({ to }) => to)).toEqual([1n, 2n, 3n])
  second.receive(4n, send[1]!.notification, 20)
  const anew = second.takeReady().send.at(-1)!.notification
  expect(anew).toMatchObject({ leader: 2n, zxid: 5n, round: 2n })
  fourth.receive(2n, anew, 30)
  expect(fourth.takeReady().send.at(-1)!.notification).toMatchObject({ leader: 2n, round: 2n })
})

test('one that was to take over and has no vote is not named again and again', () => {
  const config = { committed: three, lastSeen: four }
  const servers = new Map(
    [1n, 2n, 3n, 4n].map((id) => [id, electionOf(id, { config, reconfigEnabled: true })]),
  )
  const last = { zxid: 5n, peerEpoch: 1n }
  for (const [id, election] of servers) election.start(last, 0, id === 2n ? 4n : undefined)
  const wire: [from: bigint, Envelope][] = []
  const decided = new Map<bigint, bigint>()
  const collect = (): void => {
    for (const [id, election] of servers) {
      const { send, decision } = election.takeReady()
      if (decision !== undefined) decided.set(id, decision.leader)
      wire.push(...send.map((envelope) => [id, envelope] as [bigint, Envelope]))
    }
  }
  collect()
  let said = 0
  for (let next = wire.shift(); next !== undefined && said < 500; next = wire.shift()) {
    const [from, { to, notification }] = next
    servers.get(to)!.receive(from, notification, 0)
    said++
    collect()
  }
  expect(said).toBeLessThan(300)
  for (const election of servers.values()) election.tick(1000)
  collect()
  expect([...decided.values()]).toEqual([3n, 3n, 3n, 3n])
})

describe('a server that is named for more than it has', () => {
  const claimed = { ...vote, leader: 3n, zxid: 9n, peerEpoch: 1n, round: 4n }

  test('announces its real history in a new round, and the others accept it', () => {
    const third = electionOf(3n)
    third.start({ zxid: 2n, peerEpoch: 1n }, 0)
    third.takeReady()
    third.receive(2n, claimed, 10)
    const { send } = third.takeReady()
    expect(send.map(({ to }) => to)).toEqual([1n, 2n])
    const truth = send[1]!.notification
    expect(truth).toMatchObject({ leader: 3n, zxid: 2n, round: 5n })

    // It was to take over.
    const second = electionOf(2n)
    second.start({ zxid: 9n, peerEpoch: 1n }, 0, 3n)
    second.receive(1n, { ...claimed, round: 1n }, 10)
    second.takeReady()
    second.receive(3n, truth, 20)
    expect(second.takeReady().send.at(-1)!.notification).toMatchObject({
      leader: 2n,
      zxid: 9n,
      round: 5n,
    })
  })

  test('and of an epoch in which nothing has happened, has it all if it is in it', () => {
    const third = electionOf(3n)
    third.start({ zxid: 0x1_0000_0005n, peerEpoch: 2n }, 0)
    third.receive(2n, { ...claimed, zxid: 0x2_0000_0000n, peerEpoch: 2n }, 10)
    expect(third.takeReady().send.at(-1)!.notification).toMatchObject({
      leader: 3n,
      zxid: 0x2_0000_0000n,
      round: 4n,
    })
  })
})

test('old words that name one without a vote do not make it begin one round after another', () => {
  const config = { committed: three, lastSeen: four }
  const fourth = electionOf(4n, { config, reconfigEnabled: true })
  fourth.start({ zxid: 5n, peerEpoch: 1n }, 0)
  const named = { ...vote, leader: 4n, zxid: 5n, round: 7n }
  fourth.receive(2n, named, 10)
  fourth.takeReady()
  for (let i = 0; i < 3; i++) {
    fourth.receive(3n, named, 20)
    const { send } = fourth.takeReady()
    expect(send.map(({ to, notification }) => [to, notification.round])).toEqual([[3n, 8n]])
  }
})

describe('a server with a vote only in the proposed configuration', () => {
  const proposed = membership(line(4), line(5), 'version=8')
  const knowing = (self: bigint): Election => {
    const config = { committed: three, lastSeen: proposed }
    const election = electionOf(self, { config, reconfigEnabled: true })
    election.start({ zxid: 9n, peerEpoch: 1n }, 0)
    return election
  }

  test('learns of it, and no other server does', () => {
    const told = knowing(2n)
      .takeReady()
      .send.map(({ to, notification }) => [to, notification.proposed !== undefined])
    expect(told).toEqual([
      [1n, false],
      [3n, false],
      [4n, true],
      [5n, true],
    ])
  })

  test('and has not heard of it, votes once it has', () => {
    const fifth = electionOf(5n, { reconfigEnabled: true })
    fifth.start({ zxid: 3n, peerEpoch: 1n }, 0)
    const { notification } = knowing(4n)
      .takeReady()
      .send.find(({ to }) => to === 5n)!
    fifth.receive(4n, notification, 10)
    const { proposedConfig } = fifth.takeReady()
    expect(proposedConfig).toEqual(proposed)
    fifth.reconfigure({ committed: three, lastSeen: proposedConfig })
    fifth.start({ zxid: 3n, peerEpoch: 1n }, 10)
    fifth.receive(4n, { ...notification, leader: 4n }, 20)
    expect(fifth.takeReady()).toMatchObject({ proposedConfig: undefined })
    fifth.receive(2n, { ...vote, leader: 4n, zxid: 9n, round: 2n }, 30)
    expect(fifth.takeReady().send.at(-1)!.notification).toMatchObject({ leader: 4n, zxid: 9n })
  })

  test('but a server with a vote anyway ignores it', () => {
    const first = electionOf(1n, { reconfigEnabled: true })
    first.start({ zxid: 3n, peerEpoch: 1n }, 0)
    const text = [line(1), line(4), line(5), 'version=8'].join('\n')
    first.receive(2n, { ...vote, proposed: text }, 10)
    expect(first.takeReady().proposedConfig).toBeUndefined()
  })
})

test('an abandoned configuration keeps no server from an established leader', () => {
  const proposed = membership(line(1), line(5), line(6), 'version=8')
  const election = electionOf(1n, { config: { committed: three, lastSeen: proposed } })
  election.start({ zxid: 9n, peerEpoch: 1n }, 0)
  election.receive(2n, { ...vote, state: 'leading' }, 0)
  election.receive(3n, { ...vote, state: 'following' }, 0)
  expect(election.takeReady().decision).toMatchObject({ state: 'following', leader: 2n })
})

test('a server that can name nobody joins the round of the others', () => {
  const election = electionOf(4n)
  election.start({ zxid: 0n, peerEpoch: 1n }, 0)
  election.start({ zxid: 0n, peerEpoch: 1n }, 10)
  election.takeReady()
  election.receive(2n, vote, 20)
  expect(election.takeReady().send[0]!.notification).toMatchObject({ leader: 2n, round: 1n })
})

test('a former member answers a voter that does not know of the change, and no other', () => {
  const lines = [line(2), line(3), line(4), 'version=8']
  const config = { committed: membership(...lines) }
  const election = electionOf(1n, { config, reconfigEnabled: true })
  election.appoint({ leader: 2n, zxid: 5n, peerEpoch: 1n })
  election.receive(4n, { ...vote, config: lines.join('\n') }, 300)
  expect(election.takeReady().send).toEqual([])
  election.receive(3n, { ...vote, config: threeText }, 300)
  expect(election.takeReady().send).toMatchObject([
    { to: 3n, notification: { state: 'following', leader: 2n, config: lines.join('\n') } },
  ])
})

describe('a voter whose log lacks a proposed configuration in which it has a vote', () => {
  const proposed = membership(line(3), line(4), 'version=8')
  const text = [line(3), line(4), 'version=8'].join('\n')
  const unaware = (): Election => {
    const election = electionOf(3n, { reconfigEnabled: true })
    election.start({ zxid: 3n, peerEpoch: 1n }, 0)
    return election
  }
  const claim = { ...vote, leader: 4n, zxid: 9n, config: threeText, proposed: text }

  test('learns of it', () => {
    const config = { committed: three, lastSeen: proposed }
    const second = electionOf(2n, { config, reconfigEnabled: true })
    second.start({ zxid: 8n, peerEpoch: 1n }, 0)
    const told = second
      .takeReady()
      .send.map(({ to, notification }) => [to, notification.proposed !== undefined])
    expect(told).toEqual([
      [1n, false],
      [3n, true],
      [4n, true],
    ])
  })

  test('accepts it once a quorum has logged it, because nobody can be elected without them', () => {
    const third = unaware()
    third.receive(2n, claim, 10)
    expect(third.takeReady().proposedConfig).toBeUndefined()
    third.receive(1n, claim, 20)
    expect(third.takeReady().proposedConfig).toEqual(proposed)
  })

  test('does not go by what one alone has logged, or somebody else says', () => {
    const third = unaware()
    for (const from of [2n, 2n, 4n, 5n]) third.receive(from, claim, 10)
    expect(third.takeReady().proposedConfig).toBeUndefined()
    third.receive(1n, { ...claim, proposed: text.replace('version=8', 'version=9') }, 20)
    expect(third.takeReady().proposedConfig).toBeUndefined()
  })
})

describe('a server with a vote only in the proposed configuration, and the longest history', () => {
  const committed = membership(line(1), line(2))
  const knowing = { committed, lastSeen: membership(line(1), line(4), line(5), 'version=8') }
  const quorum = combine(verifierOf(committed), verifierOf(knowing.lastSeen))
  const unaware = { committed }

  interface Server {
    readonly id: bigint
    readonly zxid: bigint
    readonly config: ElectionConfig
  }

  /** Whom they have elected after a minute; server 1 comes a little later than the others. */
  function winner(...servers: readonly Server[]): bigint | undefined {
    const elections = new Map<bigint, Election>()
    const decisions = new Map<bigint, { leader: bigint; atMs: number }>()
    for (let nowMs = 0; nowMs < 60_000; nowMs += 10) {
      for (const { id, zxid, config } of servers) {
        if (id === 1n && nowMs < 100) continue
        const election = elections.get(id) ?? electionOf(id, { config, reconfigEnabled: true })
        // A leader without a quorum, and its followers, look again.
        const decision = decisions.get(id)
        const isVain = decision !== undefined && nowMs > decision.atMs + 500 && !isLed(decision)
        if (isVain || !elections.has(id)) election.start({ zxid, peerEpoch: 1n }, nowMs)
        if (isVain) decisions.delete(id)
        elections.set(id, election)
      }
      for (const [from, election] of elections) {
        election.tick(nowMs)
        const { send, decision } = election.takeReady()
        if (decision !== undefined) decisions.set(from, { leader: decision.leader, atMs: nowMs })
        for (const { to, notification } of send)
          elections.get(to)?.receive(from, notification, nowMs)
      }
    }
    return [...decisions.values()].find(isLed)?.leader

    function isLed({ leader }: { leader: bigint }): boolean {
      const followers = servers.filter(({ id }) => decisions.get(id)?.leader === leader)
      return decisions.get(leader)?.leader === leader && quorum.isQuorum(idsOf(followers))
    }
  }

  const idsOf = (servers: readonly Server[]) => new Set(servers.map(({ id }) => id))
  const first = { id: 1n, zxid: 11n, config: knowing }
  const fourth = { id: 4n, zxid: 3n, config: knowing }
  const fifth = { id: 5n, zxid: 13n, config: knowing }

  test('leads if a quorum knows the configuration', () => {
    const second = { id: 2n, zxid: 10n, config: knowing }
    expect(winner(first, second, fifth)).toBe(5n)
    expect(winner(first, second, fourth, fifth)).toBe(5n)
  })

  test('yields to one with less if a needed server does not know the configuration', () => {
    const second = { id: 2n, zxid: 7n, config: unaware }
    expect(winner(first, second, fifth)).toBe(1n)
    expect(winner(first, second, fourth, fifth)).toBe(1n)
  })
})
