/** The machine of a leader by itself: what follows from which input. Its role is in peer/leading.test.ts. */
import { LearnerInfo, packetName, packetOf, Writer, type PacketName } from '@zabra/protocol'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { threeMembers, zxidOf, show, int } from '../../../test/support/puppet.ts'
import { CommittedLog, type LoggedTxn } from '../../storage/log/committed-log.ts'
import { Leader } from './leader.ts'
import type { LeaderInput, LeaderReady } from './leader-ready.ts'
import { LearnerProgress } from './learner-progress.ts'

const options = { tickMs: 1000, initLimit: 10, syncLimit: 5 }
const link = { remoteAddress: '', unsentBytes: 0, packetsSent: 0, packetsReceived: 0 }

/** A machine with a driver that does everything at once, except what a test keeps for later. */
class Driven {
  readonly db = { lastZxid: zxidOf('1.5') }
  readonly epochs = { accepted: 1n, current: 1n }
  readonly committedLog = new CommittedLog()
  readonly leader: Leader
  nowMs = 0
  /** `name zxid` of what was sent, by server. */
  readonly sent = new Map<bigint, string[]>()
  readonly committed: bigint[] = []
  history: LearnerProgress[] = []
  storing: LeaderReady['store']
  ended: string | undefined
  zxid = zxidOf('2.0')

  constructor() {
    const { db, epochs, committedLog } = this
    const configs = threeMembers()
    const parts = { self: 1n, configs, db, epochs, committedLog, trace: () => {} }
    this.leader = new Leader(parts, options)
    this.step({ type: 'begin' })
  }

  step(input: LeaderInput): void {
    this.leader.step(input, this.nowMs)
    for (
      let ready = this.leader.takeReady();
      ready !== undefined;
      ready = this.leader.takeReady()
    ) {
      this.carryOut(ready)
    }
  }

  private carryOut(ready: LeaderReady): void {
    const { established, send, deliver, readLog, history, store, ended } = ready
    if (established !== undefined) this.db.lastZxid = established.zxid
    for (const { to, packet } of send ?? []) {
      const heard = this.sent.get(to.sid) ?? []
      this.sent.set(to.sid, heard)
      heard.push(`${packetName(packet.type)} ${show(packet.zxid)}`)
    }
    for (const delivery of deliver ?? []) {
      if (delivery.type !== 'proposed') continue
      this.committed.push(delivery.zxid)
      this.db.lastZxid = delivery.zxid
      this.committedLog.add(delivery)
    }
    for (const { learner } of readLog ?? [])
      this.step({ type: 'logRead', learner, txns: undefined })
    this.history.push(...(history ?? []).map(({ to }) => to))
    this.storing = store ?? this.storing
    this.ended ??= ended?.message
  }

  stored(): void {
    const { storing } = this
    this.storing = undefined
    if (storing === undefined) return
    if (storing.type === 'acceptEpoch') this.epochs.accepted = storing.epoch
    else this.epochs.current = storing.epoch
    this.step({ type: 'stored' })
  }

  heard(sid: bigint): string[] {
    const heard = this.sent.get(sid) ?? []
    this.sent.set(sid, [])
    return heard
  }

  say(learner: LearnerProgress, name: PacketName, zxid: string, data?: Uint8Array): void {
    const packet = packetOf(name, zxidOf(zxid), data ?? null)
    this.step({ type: 'packet', learner, packet })
    this.step({ type: 'packetsRead' })
  }

  connect(sid: bigint, isObserver = false): LearnerProgress {
    const learner = new LearnerProgress(link, 0)
    this.step({ type: 'connected', learner })
    const writer = new Writer(20)
    LearnerInfo.write(writer, { serverId: sid, protocolVersion: 0x10000, configVersion: 0n })
    const name = isObserver ? 'observerInfo' : 'followerInfo'
    this.say(learner, name, '1.0', new Uint8Array(writer.written()))
    return learner
  }

  sendHistories(): void {
    for (const learner of this.history.splice(0)) this.step({ type: 'historySent', learner })
  }

  propose(): bigint {
    this.zxid++
    const payload = new Uint8Array([Number(this.zxid & 0xffn)])
    this.step({ type: 'proposed', zxid: this.zxid, payload, from: undefined })
    return this.zxid
  }

  /** A follower up to its acknowledgement of NEWLEADER, and everything that is stored for it. */
  follower(sid: bigint): LearnerProgress {
    const learner = this.connect(sid)
    this.stored()
    this.say(learner, 'ackEpoch', '1.5', int(1))
    this.stored()
    this.sendHistories()
    this.say(learner, 'ack', '2.0')
    return learner
  }
}

let driven: Driven

beforeEach(() => {
  driven = new Driven()
})

describe('connections that promise nothing', () => {
  const silent = (): LearnerProgress => {
    const learner = new LearnerProgress(link, 0)
    driven.step({ type: 'connected', learner })
    return learner
  }

  test('are bounded, and the oldest silent one gives way', () => {
    const introduced = driven.connect(2n)
    const oldest = silent()
    const others = Array.from({ length: 198 }, silent)
    expect([introduced.state, oldest.state]).toEqual(['introduced', 'connected'])
    silent()
    expect([introduced.state, oldest.state]).toEqual(['introduced', 'gone'])
    expect(others.every(({ state }) => state === 'connected')).toBe(true)
  })
})

describe('what a leader is promised by its driver, and promises', () => {
  test('LEADERINFO leaves only when the epoch is stored', () => {
    driven.connect(2n)
    expect(driven.heard(2n)).toEqual([])
    expect(driven.storing).toEqual({ type: 'acceptEpoch', epoch: 2n })
    driven.stored()
    expect(driven.heard(2n)).toEqual(['leaderInfo 2.0'])
  })

  test('a quorum does not count this server before its current epoch is stored', () => {
    const second = driven.connect(2n)
    driven.stored()
    driven.say(second, 'ackEpoch', '1.5', int(1))
    driven.sendHistories()
    driven.say(second, 'ack', '2.0')
    expect([driven.leader.isEstablished, driven.heard(2n).at(-1)]).toEqual([false, 'newLeader 2.0'])
    driven.stored()
    expect([driven.leader.isEstablished, driven.heard(2n)]).toEqual([true, ['upToDate -1']])
  })

  test('proposals after the end of the role count as uncommitted', () => {
    driven.follower(2n)
    driven.step({ type: 'end', reason: new Error('enough') })
    const zxid = driven.propose()
    expect(driven.leader.uncommitted.map((txn: LoggedTxn) => txn.zxid)).toEqual([zxid])
    driven.step({ type: 'logged', zxid })
    expect(driven.committed).toEqual([])
  })

  test('a history is planned from the applied state: a driver that lags behind is a bug', () => {
    const second = driven.follower(2n)
    const zxid = driven.propose()
    driven.step({ type: 'logged', zxid })
    driven.say(second, 'ack', '2.1')
    expect(driven.committed).toEqual([zxid])
    driven.db.lastZxid = zxidOf('2.0')
    const third = driven.connect(3n)
    expect(() => driven.say(third, 'ackEpoch', '1.5', int(1))).toThrow('is applied here')
  })

  test('a history does not grow while it is being sent', () => {
    const leader = new Driven()
    for (let zxid = zxidOf('1.1'); zxid <= zxidOf('1.5'); zxid++) {
      leader.committedLog.add({ zxid, payload: new Uint8Array(1) })
    }
    const second = leader.follower(2n)
    const third = leader.connect(3n)
    // It lacks everything that memory holds.
    const ack = packetOf('ackEpoch', zxidOf('1.0'), int(1))
    leader.leader.step({ type: 'packet', learner: third, packet: ack }, 0)
    const plan = leader.leader.takeReady()?.history
    const zxid = leader.propose()
    leader.step({ type: 'logged', zxid })
    leader.say(second, 'ack', '2.1')
    expect(leader.committed).toEqual([zxid])
    const sync = plan?.[0]?.plan
    expect(sync?.kind === 'snap' ? undefined : sync?.txns.at(-1)?.zxid).toBe(zxidOf('1.5'))
  })
})

/** Anything that can happen to a leader of two followers and an observer, in any order. */
const events = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ type: 'propose' } as const) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('logged'), back: fc.nat(3) } as const) },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('ack'),
        sid: fc.constantFrom(2n, 3n, 4n),
        back: fc.nat(3),
      } as const),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'stored' } as const) },
    { weight: 2, arbitrary: fc.constant({ type: 'history' } as const) },
    { weight: 2, arbitrary: fc.constant({ type: 'halfTick' } as const) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('ping'),
        sid: fc.constantFrom(2n, 3n, 4n),
      } as const),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('again'),
        sid: fc.constantFrom(2n, 3n, 4n),
      } as const),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('passes'), ms: fc.nat(1200) } as const),
    },
  ),
  { maxLength: 80, size: 'max' },
)

/** The transactions of the epoch in the logs of the voters, as far as the leader knows. */
interface Logs {
  own: bigint
  readonly others: Map<bigint, bigint>
}

function expectCommittedByQuorum({ committed }: Driven, { own, others }: Logs, from: number): void {
  for (const zxid of committed.slice(from)) {
    const holders = [own, others.get(2n) ?? 0n, others.get(3n) ?? 0n].filter((at) => at >= zxid)
    expect(holders.length).toBeGreaterThanOrEqual(2)
  }
}

test('whatever happens, commits are in order, and only of what a quorum has logged', () => {
  let commits = 0
  fc.assert(
    fc.property(events, (happenings) => {
      const one = new Driven()
      const logs: Logs = { own: 0n, others: new Map() }
      const learners = new Map([2n, 3n].map((sid) => [sid, one.follower(sid)]))
      for (const event of happenings) {
        const before = one.committed.length
        const { zxid } = one
        const upTo = 'back' in event ? zxid - BigInt(event.back) : zxid
        const learner = 'sid' in event ? learners.get(event.sid) : undefined
        const mayAck = learner?.hasReached('acknowledged') === true && upTo > zxidOf('2.0')
        if (event.type === 'propose' && one.ended === undefined) one.propose()
        else if (event.type === 'logged' && upTo > logs.own) {
          logs.own = upTo
          one.step({ type: 'logged', zxid: upTo })
        } else if (event.type === 'ack' && mayAck) {
          if (!learner.isObserver && upTo > (logs.others.get(event.sid) ?? 0n)) {
            logs.others.set(event.sid, upTo)
          }
          one.say(learner, 'ack', show(upTo))
        } else if (event.type === 'stored') one.stored()
        else if (event.type === 'history') one.sendHistories()
        else if (event.type === 'halfTick') one.step({ type: 'halfTick' })
        else if (event.type === 'ping' && mayAck) one.say(learner, 'ping', show(zxid))
        else if (event.type === 'again') comeAgain(one, learners, event.sid, logs)
        else if (event.type === 'passes') {
          one.nowMs += event.ms
          one.step({ type: 'passed', sinceMs: one.nowMs - event.ms })
        }
        expectCommittedByQuorum(one, logs, before)
      }
      commits += one.committed.length
      const inOrder = one.committed.map((_, i) => zxidOf('2.0') + BigInt(i + 1))
      expect(one.committed).toEqual(inOrder)
      for (const heard of one.sent.values()) expectInOrder(heard)
    }),
    { numRuns: 500 },
  )
  expect(commits).toBeGreaterThan(1000)
})

/** A learner's connection breaks, it comes back, and takes the history that it is sent. */
function comeAgain(
  one: Driven,
  learners: Map<bigint, LearnerProgress>,
  sid: bigint,
  logs: Logs,
): void {
  const before = learners.get(sid)
  if (before !== undefined) one.step({ type: 'lost', learner: before })
  one.sent.delete(sid)
  const learner = one.connect(sid, sid === 4n)
  learners.set(sid, learner)
  if (learner.state !== 'asked') return
  const logged = logs.others.get(sid) ?? one.db.lastZxid
  one.say(learner, 'ackEpoch', show(logged), int(-1))
  // It may have to cut off transactions that the leader has not committed.
  logs.others.delete(sid)
  one.sendHistories()
  one.say(learner, 'ack', '2.0')
}

/** On one connection a follower gets proposals and commits each in order, none of them twice. */
function expectInOrder(heard: readonly string[]): void {
  for (const name of ['proposal', 'commit', 'inform'] as const) {
    const zxids = heard
      .filter((text) => text.startsWith(`${name} `))
      .map((text) => zxidOf(text.split(' ')[1]!))
    for (let i = 1; i < zxids.length; i++) expect(zxids[i]).toBe(zxids[i - 1]! + 1n)
  }
}
