/**
 * Elections after everybody lost power while members were being replaced, at points drawn at random:
 * whatever each of them had logged by then, one that has all that was committed comes to lead.
 */
import type { Notification } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MembershipState } from '../../membership/membership-state.ts'
import { Discovery } from '../zab/discovery.ts'
import { parseMembership, verifierOf, type Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { Election, type Decision } from './election.ts'

const epoch = 1n
/** Of the transaction that proposes the other members. */
const changeZxid = 0x1_0000_0008n
const stepMs = 10
const limitMs = 30_000

interface Case {
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** Servers that run without a vote, before they get one or after they lost it. */
  readonly observing: readonly boolean[]
  /** How many transactions more, or less, than the change each server has logged. */
  readonly logged: readonly number[]
  /** Servers that know that the change is committed, if it is. */
  readonly hasHeard: readonly boolean[]
  /** Of messages, in steps, one after the other. */
  readonly delays: readonly number[]
}

function members(
  version: bigint,
  voters: readonly number[],
  others: readonly number[],
): Membership {
  const lineOf = (role: string) => (id: number) => `server.${id}=h${id}:2888:3888:${role}`
  const observers = others.filter((id) => !voters.includes(id))
  const lines = [...voters.map(lineOf('participant')), ...observers.map(lineOf('observer'))]
  const parsed = parseMembership([...lines, `version=${version.toString(16)}`].join('\n'))
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

interface Message {
  readonly from: ServerId
  readonly notification: Notification
  readonly atMs: number
}

class Server {
  readonly id: ServerId
  readonly last: { readonly zxid: bigint; readonly peerEpoch: bigint }
  readonly election: Election
  readonly configs: MembershipState
  readonly inbox: Message[] = []
  decision: Decision | undefined
  decidedAtMs = 0
  discovery: Discovery | undefined

  constructor(id: ServerId, zxid: bigint, committed: Membership, seen: Membership | undefined) {
    this.id = id
    this.last = { zxid, peerEpoch: epoch }
    this.configs = new MembershipState(committed, { isEnabled: true })
    if (seen !== undefined) this.configs.see(seen)
    this.election = new Election({ self: id, config: this.config, reconfigEnabled: true })
  }

  private get config() {
    const { committed, seen } = this.configs
    return { committed, lastSeen: seen }
  }

  look(nowMs: number): void {
    this.decision = this.discovery = undefined
    this.election.start(this.last, nowMs)
  }

  /** Takes over what the election has found out, and answers what it has to say. */
  ready(nowMs: number) {
    const { send, decision, newerConfig, proposedConfig } = this.election.takeReady()
    const isNew = newerConfig !== undefined && this.configs.commit(newerConfig)
    if (proposedConfig !== undefined) this.configs.see(proposedConfig)
    if (isNew || proposedConfig !== undefined) {
      this.election.reconfigure(this.config)
      this.look(nowMs)
    } else if (decision !== undefined) {
      this.decision = decision
      this.decidedAtMs = nowMs
    }
    return send
  }

  lead(): void {
    const { id: self, configs, last } = this
    this.discovery = new Discovery({ self, configs }, { epoch: last.peerEpoch, zxid: last.zxid })
    this.discovery.acknowledge(self, epoch, last.zxid)
  }

  get isEstablished(): boolean {
    return this.discovery?.isPromised === true
  }
}

/** The last transaction that some client may know of. */
function committedZxid(before: Membership, after: Membership, servers: readonly Server[]): bigint {
  const heldBy = (config: Membership, zxid: bigint): boolean => {
    const holders = servers.filter(({ last }) => last.zxid >= zxid).map(({ id }) => id)
    return verifierOf(config).isQuorum(new Set(holders))
  }
  const isChanged = heldBy(before, changeZxid) && heldBy(after, changeZxid)
  const zxids = servers.map(({ last }) => last.zxid)
  const isCommitted = (zxid: bigint): boolean =>
    zxid < changeZxid ? heldBy(before, zxid) : isChanged && heldBy(after, zxid)
  return zxids.filter(isCommitted).reduce((max, zxid) => (zxid > max ? zxid : max), 0n)
}

/** The servers as they come back, and the last transaction that was committed before. */
function begin(one: Case): { servers: Server[]; committed: bigint } {
  const { before, after, observing, logged, hasHeard } = one
  const old = members(
    1n,
    before,
    after.filter((id) => observing[id]),
  )
  const proposed = members(
    changeZxid,
    after,
    before.filter((id) => observing[id]),
  )
  const ids = [...new Set([...before, ...after])].toSorted((a, b) => a - b)
  const bare = ids.map(
    (id) => new Server(BigInt(id), changeZxid + BigInt(logged[id]!), old, undefined),
  )
  const committed = committedZxid(old, proposed, bare)
  const servers = bare.map(({ id, last: { zxid } }) => {
    const isHeard = committed >= changeZxid && zxid >= changeZxid && (hasHeard[Number(id)] ?? false)
    return new Server(id, zxid, isHeard ? proposed : old, zxid >= changeZxid ? proposed : undefined)
  })
  return { servers, committed }
}

function play(one: Case): string {
  const { delays } = one
  const { servers, committed } = begin(one)
  const byId = new Map(servers.map((server) => [server.id, server]))
  let messages = 0
  for (const server of servers) server.look(0)
  for (let nowMs = 0; nowMs < limitMs; nowMs += stepMs) {
    for (const server of servers) {
      const due = server.inbox.filter(({ atMs }) => atMs <= nowMs)
      server.inbox.splice(0, due.length)
      for (const { from, notification } of due) server.election.receive(from, notification, nowMs)
      server.election.tick(nowMs)
      for (const { to, notification } of server.ready(nowMs)) {
        const inbox = byId.get(to)?.inbox
        const delay = delays[messages++ % delays.length]! * stepMs
        const atMs = Math.max(nowMs + delay, inbox?.at(-1)?.atMs ?? 0)
        inbox?.push({ from: server.id, notification, atMs })
      }
    }
    for (const server of servers) take(server, byId, nowMs)
    const leader = servers.find(({ isEstablished }) => isEstablished)
    if (leader === undefined) continue
    return leader.last.zxid >= committed ? 'led' : `server ${leader.id} lacks what is committed`
  }
  return 'nobody leads'
}

/** Plays the role that was decided on, until it turns out to be in vain. */
function take(server: Server, byId: ReadonlyMap<ServerId, Server>, nowMs: number): void {
  const { decision, election, decidedAtMs } = server
  if (decision === undefined) return
  const leader = byId.get(decision.leader)
  if (decision.state === 'leading') {
    if (server.discovery === undefined) server.lead()
    else if (nowMs > decidedAtMs + 1500 || election.isDeserted) server.look(nowMs)
  } else if (leader?.discovery === undefined) {
    if (nowMs > decidedAtMs + 500) server.look(nowMs)
  } else if (server.configs.committed.version > leader.configs.newest.version) {
    server.look(nowMs)
  } else if (decision.state === 'following') {
    leader.election.joined(server.id)
    try {
      leader.discovery.acknowledge(server.id, epoch, server.last.zxid)
    } catch {
      // It has more than the leader, and is turned away.
      server.look(nowMs)
    }
  }
}

const someServers = fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })

const anyCase: fc.Arbitrary<Case> = fc.record({
  before: someServers,
  after: someServers,
  observing: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  logged: fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 6, maxLength: 6 }),
  hasHeard: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  delays: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 7, maxLength: 7 }),
})

test('a server with everything committed gets to lead, wherever a change of members stopped', () => {
  fc.assert(
    fc.property(anyCase, (one) => {
      expect(play(one)).toBe('led')
    }),
    { numRuns: 2000 },
  )
})

test('a server leads only with everything committed, whoever is elected and follows', () => {
  let agreed = 0
  const order = fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 1 })
  fc.assert(
    fc.property(anyCase, order, (one, [leaderId, ...others]) => {
      const { servers, committed } = begin(one)
      const leader = servers.find(({ id }) => id === BigInt(leaderId!))
      if (leader === undefined) return
      leader.lead()
      for (const other of others) {
        const server = servers.find(({ id }) => id === BigInt(other))
        if (server === undefined) continue
        if (server.configs.committed.version > leader.configs.newest.version) continue
        try {
          leader.discovery!.acknowledge(server.id, epoch, server.last.zxid)
        } catch {
          // Turned away.
        }
      }
      if (!leader.isEstablished) return
      agreed++
      expect(leader.last.zxid).toBeGreaterThanOrEqual(committed)
    }),
    { numRuns: 20_000 },
  )
  expect(agreed).toBeGreaterThan(2000)
})
