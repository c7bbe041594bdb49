/** Elections in a network that loses connections and servers, under thousands of seeds. */
import { expect, test } from 'vitest'
import { parseMembership, verifierOf, type Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { Decision, Envelope } from './election.ts'
import { beats, type Candidate } from './vote.ts'
import { World, type Witness, type WorldServer } from '../../../test/support/election/world.ts'

function membership(text: string): Membership {
  const parsed = parseMembership(text)
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const line = (id: number, role = 'participant'): string => `server.${id}=h${id}:2888:3888:${role}`
const ensembles = [
  membership([1, 2, 3].map((id) => line(id)).join('\n')),
  membership([1, 2, 3, 4, 5].map((id) => line(id)).join('\n')),
  membership([...[1, 2, 3].map((id) => line(id)), line(4, 'observer')].join('\n')),
]

/**
 * The guarantees of an election. It does not guarantee that only one server believes to have won, not
 * even in one round: a voter may change its mind after its vote was counted. It promises that the
 * winner had, in that round, the votes of a quorum, and that none of those voters holds a longer
 * history than the winner claims. Nothing that was committed is missing there, therefore.
 */
class Promises implements Witness {
  private readonly config: Membership
  /** All nominations so far, by leader and round. */
  private readonly named = new Map<string, Set<ServerId>>()
  private readonly own = new Map<ServerId, Candidate>()
  /** The present vote of each server, in its present election. */
  private readonly latest = new Map<ServerId, Candidate & { round: bigint }>()
  readonly problems: string[] = []
  decisions = 0

  constructor(config: Membership) {
    this.config = config
  }

  started({ id, last }: WorldServer): void {
    this.latest.delete(id)
    this.own.set(id, { leader: id, ...last })
  }

  sent({ id }: WorldServer, { notification }: Envelope): void {
    const { leader, round, state } = notification
    if (leader < 0n) return
    const key = `${leader} ${round}`
    this.named.set(key, (this.named.get(key) ?? new Set()).add(id))
    if (state !== 'looking' || !this.isVoter(id)) return
    const quorum = verifierOf(this.config)
    const before = this.latest.get(id)
    if (before?.round === round && beats(before, notification, quorum)) {
      this.problems.push(`${id} changed its mind for the worse in round ${round}`)
    }
    if (beats(this.own.get(id)!, notification, quorum)) {
      this.problems.push(`${id} votes for ${leader}, which holds less than itself`)
    }
    this.latest.set(id, notification)
  }

  decided({ id, last }: WorldServer, { leader, round, state, zxid, peerEpoch }: Decision): void {
    this.decisions++
    const supporters = new Set(this.named.get(`${leader} ${round}`)).add(leader)
    if (this.isVoter(id)) supporters.add(id)
    if (!verifierOf(this.config).isQuorum(supporters)) {
      this.problems.push(`${id} is ${state} ${leader} in round ${round} without a quorum`)
    }
    const claims = { leader, zxid, peerEpoch }
    if (state === 'leading' && beats(claims, { leader, ...last }, verifierOf(this.config))) {
      this.problems.push(`${id} leads with a history that it does not hold`)
    }
  }

  private isVoter(id: ServerId): boolean {
    return this.config.servers.get(id)?.role === 'participant'
  }
}

function pick<T>(world: World, list: readonly T[]): T {
  return list[world.between(0, list.length - 1)]!
}

/** Servers crash and come back, connections break, networks part. */
function disturb(world: World, servers: readonly WorldServer[]): void {
  const server = pick(world, servers)
  const other = pick(world, servers)
  const chance = world.random()
  if (chance < 0.3) {
    if (server.isUp) world.crash(server)
    else world.boot(server)
  } else if (chance < 0.6) {
    world.breakWires(server.id, other.id)
  } else if (chance < 0.8) {
    world.part(server.id, other.id)
  } else {
    world.heal()
  }
}

function play(seed: number): { problems: string[]; decisions: number; tookMs: number } {
  const config = ensembles[seed % ensembles.length]!
  const promises = new Promises(config)
  const delayMaxMs = [1, 20, 150][Math.floor(seed / 3) % 3]!
  const world = new World({ seed, config, delayMaxMs }, promises)
  const servers = [...world.servers.values()]
  for (const server of servers) if (world.random() < 0.9) world.boot(server)
  for (let fault = world.between(0, 12); fault > 0; fault--) {
    world.run(world.between(0, 1000))
    disturb(world, servers)
  }
  world.heal()
  for (const server of servers) if (!server.isUp) world.boot(server)
  const healedMs = world.nowMs
  const isSettled = (): boolean =>
    new Set(servers.map(({ decision }) => decision?.leader)).size === 1
  const isLed = (): boolean => {
    const leader = servers[0]?.decision?.leader
    return leader !== undefined && world.servers.get(leader)?.decision?.state === 'leading'
  }
  while (!(isSettled() && isLed()) && world.nowMs < healedMs + patienceMs) world.run(50)
  const tookMs = world.nowMs - healedMs
  if (tookMs >= patienceMs) promises.problems.push('there is no leader')
  return { problems: promises.problems, decisions: promises.decisions, tookMs }
}

/** The time in which servers that can all talk must agree. */
const patienceMs = 30_000
const seeds = 2000

test(`${seeds} elections keep their promises, and end`, () => {
  let decisions = 0
  let longestMs = 0
  for (let seed = 0; seed < seeds; seed++) {
    const played = play(seed)
    expect(played.problems, `seed ${seed}`).toEqual([])
    decisions += played.decisions
    longestMs = Math.max(longestMs, played.tookMs)
  }
  expect(decisions).toBeGreaterThan(seeds * 3)
  expect(longestMs).toBeLessThan(patienceMs)
}, 120_000)
