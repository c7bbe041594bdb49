/** A leader, and learners that are played by hand. */
import { encodePacket, LearnerInfo, packetTypes, Writer } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommittedLog, type LoggedTxn } from '../storage/log/committed-log.ts'
import type { MembershipState } from '../membership/membership-state.ts'
import type { Leader } from '../consensus/zab/leader.ts'
import { Leading } from './leading.ts'
import { parseMembership } from '../membership/membership.ts'
import { ZabStats } from '../consensus/zab/zab-stats.ts'
import type { ZabOptions } from '../consensus/zab/options.ts'
import {
  int,
  makeParts,
  payloadOf,
  Puppet,
  serveWith,
  settled,
  threeMembers,
  zxidOf,
  type TestParts,
} from '../../test/support/puppet.ts'

const options = { tickMs: 1000, initLimit: 10, syncLimit: 5 }

let parts: TestParts
let leading: Leading
/** The machine that it drives. */
let leader: Leader
let configs: MembershipState
let reason: string | undefined
let committedLog: CommittedLog
let readHistory: () => Promise<LoggedTxn[] | undefined>
const refused: string[] = []
const claims: bigint[] = []
const dropped: string[] = []

beforeEach(() => lead('1.5', 1n))
afterEach(() => leading.end(new Error('the test is over')))

/** Server 1 of three leads, with this history. */
async function lead(
  lastZxid: string,
  accepted: bigint,
  given: Partial<ZabOptions> = {},
  keptInMemory?: number,
  reconfigEnabled = false,
  hold: (isOn: boolean) => void = () => {},
): Promise<void> {
  parts = await makeParts(lastZxid, accepted)
  committedLog = new CommittedLog(keptInMemory)
  readHistory = () => Promise.resolve(undefined)
  reason = undefined
  refused.length = dropped.length = claims.length = 0
  configs = threeMembers(reconfigEnabled)
  const { db, epochs, host } = parts
  leading = new Leading(
    {
      self: 1n,
      configs,
      epochs,
      db,
      committedLog,
      readHistory: () => readHistory(),
      host,
      clock: {
        get nowMs() {
          return host.nowMs
        },
        wallMs: 0,
      },
      history: { appended: () => {} },
      remedyFor: () => 'none',
      stats: new ZabStats(),
      listen: () => {},
      trace: (event) => {
        if (event.type === 'learnerRefused') refused.push(event.reason)
        if (event.type === 'epochRefused') claims.push(event.promised)
        if (event.type === 'learnerDropped') dropped.push(`${event.sid}: ${event.reason}`)
      },
      serve: serveWith(parts),
      synced: (ticket) => parts.pipeline.synced(ticket),
      hold,
    },
    { ...options, ...given },
  )
  leader = leading.leader
  leading.run().catch((error: Error) => {
    reason = error.message
  })
}

function hello(serverId: bigint): Uint8Array {
  const writer = new Writer(20)
  LearnerInfo.write(writer, { serverId, protocolVersion: 0x10000, configVersion: 0n })
  return new Uint8Array(writer.written())
}

async function introduce(
  sid: bigint,
  accepted: string,
  kind: 'followerInfo' | 'observerInfo' = 'followerInfo',
): Promise<Puppet> {
  const learner = new Puppet()
  leading.accept(learner.link)
  await learner.say(kind, accepted, hello(sid))
  return learner
}

/** A follower up to its acknowledgement of NEWLEADER. */
async function follower(sid: bigint, lastZxid = '1.5', epoch = 1): Promise<Puppet> {
  const learner = await introduce(sid, '1.0')
  await learner.say('ackEpoch', lastZxid, int(epoch))
  await learner.heard()
  await learner.say('ack', '2.0')
  return learner
}

function request(session: bigint, type: number, body: (writer: Writer) => void): Uint8Array {
  const writer = new Writer(64)
  writer.long(session)
  writer.int(0)
  writer.int(type)
  body(writer)
  return new Uint8Array(writer.written())
}

const newSession = (id: bigint): Uint8Array => request(id, -10, (writer) => writer.int(4000))

test('a leader and its first follower agree, step by step', async () => {
  const learner = await introduce(2n, '1.0')
  expect(await learner.heard()).toEqual(['leaderInfo 2.0'])
  expect(parts.epochs).toMatchObject({ accepted: 2n, current: 1n })
  await learner.say('ackEpoch', '1.5', int(1))
  expect(await learner.heard()).toEqual(['diff 1.5', 'newLeader 2.0'])
  expect(parts.epochs.current).toBe(2n)
  expect(leader.isEstablished).toBe(false)
  await learner.say('ack', '2.0')
  expect(await learner.heard()).toEqual(['upToDate -1'])
  expect(leader.isEstablished).toBe(true)
  await learner.say('ack', '2.0')
  await learner.say('request', -1n, newSession(9n))
  expect(await learner.heard()).toEqual(['proposal 2.1'])
  await learner.say('ack', '2.1')
  expect(await learner.heard()).toEqual([])
  leading.logged(zxidOf('2.1'))
  expect(await learner.heard()).toEqual(['commit 2.1'])
})

describe('the epoch', () => {
  test('is the first that no server of the quorum has accepted', async () => {
    const learner = await introduce(2n, '7.0')
    expect(await learner.heard()).toEqual(['leaderInfo 8.0'])
  })

  test('comes after what an observer has promised', async () => {
    await introduce(4n, '7.0', 'observerInfo')
    const learner = await introduce(2n, '1.0')
    expect(await learner.heard()).toEqual(['leaderInfo 8.0'])
  })

  test.each(['observerInfo', 'followerInfo'] as const)(
    'does not come after what a stranger has promised (%s)',
    async (kind) => {
      await lead('1.5', 1n, { admitsStrangers: true })
      await introduce(9n, '2147483392.0', kind)
      const learner = await introduce(2n, '1.0')
      expect(await learner.heard()).toEqual(['leaderInfo 2.0'])
    },
  )

  test.each([2_147_483_647n, 2_147_483_392n, 65_538n])(
    'does not come after one that no member can have promised: %s',
    async (epoch) => {
      const learner = await introduce(2n, `${epoch}.0`)
      expect(learner.isClosed).toBe(true)
      expect(refused).toEqual([`server 2 says that it has promised epoch ${epoch}`])
      expect(claims).toEqual([epoch])
      expect(await (await introduce(2n, '65537.0')).heard()).toEqual(['leaderInfo 65538.0'])
    },
  )

  test('may be the last one, for servers that have promised it, and there is none after it', async () => {
    await lead('1.5', 0x7ffffffen)
    expect(await (await introduce(2n, '2147483646.0')).heard()).toEqual(['leaderInfo 2147483647.0'])
    await lead('1.5', 0x7fffffffn)
    await settled()
    expect(reason).toMatch('the last')
  })

  test('is promised durably before it is announced', async () => {
    parts.disk.fault = (call) => (call === 'syncDirectory' ? 'EIO' : undefined)
    const learner = await introduce(2n, '1.0')
    expect(await learner.heard()).toEqual([])
    expect(reason).toMatch('EIO')
  })

  test('is not decided by a server without a vote', async () => {
    const observer = await introduce(4n, '1.0', 'observerInfo')
    const stranger = await introduce(8n, '1.0')
    expect([await observer.heard(), await stranger.heard()]).toEqual([[], []])
  })

  test('is not decided by a server that comes after the role has ended', async () => {
    const early = new Puppet()
    leading.accept(early.link)
    leading.end(new Error('enough'))
    await early.say('followerInfo', '5.0', hello(2n))
    const late = await introduce(3n, '5.0')
    expect(parts.epochs.accepted).toBe(1n)
    expect([early.isClosed, late.isClosed]).toEqual([true, true])
  })

  test('is abandoned for a newer one that a member has promised already', async () => {
    const second = await follower(2n)
    await second.say('request', -1n, newSession(7n))
    await introduce(3n, '9.0')
    expect(reason).toBeUndefined()
    // Proposals are committed first.
    leading.logged(zxidOf('2.1'))
    await second.say('ack', '2.1')
    expect(await second.heard()).toContain('commit 2.1')
    expect(reason).toBe('server 3 has promised epoch 9 already')
    expect(parts.epochs).toMatchObject({ accepted: 9n, current: 2n })
  })

  test.each([
    ['a stranger', 8n, '9.0'],
    ['one that promised ours', 3n, '2.0'],
  ])('is not given up for %s', async (_who, sid, promised) => {
    await follower(2n)
    await introduce(sid, promised)
    expect(reason).toBeUndefined()
    expect(parts.epochs.accepted).toBe(2n)
  })

  test('is not abandoned for another server with the id of a learner', async () => {
    const second = await follower(2n)
    await second.say('ack', '2.0')
    await introduce(2n, '9.0')
    expect(reason).toBeUndefined()
  })

  test('is not abandoned before a quorum holds it', async () => {
    await introduce(2n, '1.0')
    const third = await introduce(3n, '9.0')
    expect(await third.heard()).toEqual(['leaderInfo 2.0'])
    expect(reason).toBeUndefined()
  })

  test('must be agreed on in time', async () => {
    await parts.host.pass(10_001)
    leading.tick()
    await settled()
    expect(reason).toMatch('agreeing on an epoch')
  })
})

describe('a learner that asks for everything', () => {
  function asking(history?: { epoch: number; zxid: string }): Uint8Array {
    const writer = new Writer(16)
    writer.int(-1)
    if (history !== undefined) {
      writer.int(history.epoch)
      writer.long(zxidOf(history.zxid))
    }
    return new Uint8Array(writer.written())
  }

  test('counts by its history, and gets a snapshot', async () => {
    const learner = await introduce(2n, '1.0')
    await learner.say('ackEpoch', -1n, asking({ epoch: 1, zxid: '1.4' }))
    learner.skipSnapshot()
    await learner.say('ack', '2.0')
    expect(leader.isEstablished).toBe(true)
  })

  test('is refused if it has more', async () => {
    const learner = await introduce(2n, '1.0')
    await learner.say('ackEpoch', -1n, asking({ epoch: 1, zxid: '1.6' }))
    expect(learner.isClosed).toBe(true)
  })

  test.each([
    ['does not say what it has', asking()],
    ['says that it has nothing', int(1)],
  ])('counts for nothing where it %s', async (_, promise) => {
    const learner = await introduce(2n, '1.0')
    await learner.heard()
    await learner.say('ackEpoch', -1n, promise)
    expect(await learner.heard()).toEqual([])
    expect(learner.isClosed).toBe(false)
    await follower(3n)
    expect(leader.isEstablished).toBe(true)
    learner.skipSnapshot()
    await learner.say('ack', '2.0')
    expect((await learner.heard()).slice(0, 2)).toEqual(['newLeader 2.0', 'upToDate -1'])
  })
})

describe('a learner is refused', () => {
  test.each([
    ['with a longer history', '1.6', 1],
    ['of a later epoch', '1.2', 2],
  ])('%s', async (_, lastZxid, epoch) => {
    const learner = await introduce(2n, '1.0')
    await learner.say('ackEpoch', lastZxid, int(epoch))
    expect(learner.isClosed).toBe(true)
    expect(leader.isEstablished).toBe(false)
    expect(reason).toBeUndefined()
  })

  test.each(['observerInfo', 'followerInfo'] as const)(
    'that is no member, unless members can be changed (%s)',
    async (kind) => {
      const stranger = await introduce(9n, '1.0', kind)
      expect(stranger.isClosed).toBe(true)
      expect(refused).toEqual(['server 9 is no member, and quorum.admitStrangers is off'])
      await lead('1.5', 1n, {}, undefined, true)
      expect((await introduce(9n, '1.0', kind)).isClosed).toBe(false)
      await lead('1.5', 1n, { admitsStrangers: false }, undefined, true)
      expect((await introduce(9n, '1.0', kind)).isClosed).toBe(true)
    },
  )

  test('that has the id of the leader', async () => {
    const learner = await introduce(1n, '1.0')
    expect(learner.isClosed).toBe(true)
    expect(refused).toHaveLength(1)
  })

  test.each([
    ['begins with something else', (one: Puppet) => one.say('ack', '1.0')],
    ['does not say who it is', (one: Puppet) => one.say('followerInfo', '1.0')],
    ['sends what is no packet', (one: Puppet) => one.sayRaw(new Uint8Array(64).fill(0xee))],
  ])('that %s', async (_, saying) => {
    const learner = new Puppet()
    leading.accept(learner.link)
    await saying(learner)
    expect(learner.isClosed).toBe(true)
    expect(reason).toBeUndefined()
  })

  test('that sends a broken request, and only that one', async () => {
    const good = await follower(2n)
    const bad = await follower(3n)
    await bad.say('request', -1n, new Uint8Array(3))
    expect([good.isClosed, bad.isClosed]).toEqual([false, true])
    expect(leader.isEstablished).toBe(true)
  })

  test('that was gone before its turn, and does not count', async () => {
    const gone = await introduce(2n, '1.0')
    gone.link.lost()
    const learner = await introduce(3n, '1.0')
    await learner.say('ackEpoch', '1.5', int(1))
    expect(leader.learners.size).toBe(1)
  })
})

describe('history', () => {
  test('is sent before NEWLEADER, and newer transactions after UPTODATE', async () => {
    const first = await follower(2n)
    const late = await introduce(3n, '1.0')
    await late.say('ackEpoch', '2.0', int(-1))
    expect(await late.heard()).toEqual(['leaderInfo 2.0', 'diff 2.0', 'newLeader 2.0'])
    await first.say('request', -1n, newSession(9n))
    await first.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    leading.halfTick()
    expect(await late.heard()).toEqual(['ping 2.1'])
    await late.say('ack', '2.0')
    expect(await late.heard()).toEqual(['upToDate -1', 'proposal 2.1', 'commit 2.1', 'ping 2.1'])
  })

  test('as a snapshot is followed by transactions it may contain', async () => {
    const first = await follower(2n)
    for (let i = 0; i < 3000; i++) {
      const path = `/node-${i}-${'x'.repeat(200)}`
      parts.db.tree.insert(path, parts.db.tree.find('/'), {
        data: new Uint8Array(100),
        aclId: -1,
        owner: 0n,
        zxid: 1n,
        time: 0n,
      })
    }
    const late = await introduce(3n, '1.0')
    await late.say('ackEpoch', '0.0', int(-1))
    await first.say('request', -1n, newSession(9n))
    await first.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    leading.halfTick()
    for (let turn = 0; turn < 50; turn++) await parts.host.pass(1)
    late.skipSnapshot()
    expect(await late.heard()).toEqual(['proposal 2.1', 'commit 2.1', 'newLeader 2.0'])
  })

  test('of the log is useless if memory has dropped the next transactions', async () => {
    leading.end(new Error('another one is needed'))
    await lead('1.5', 1n, {}, 1)
    const first = await follower(2n)
    committedLog.add({ zxid: zxidOf('1.5'), payload: payloadOf('1.5') })
    let answer: (txns: LoggedTxn[]) => void = () => {}
    readHistory = () => new Promise((resolve) => (answer = resolve))
    const late = await introduce(3n, '1.0')
    await late.say('ackEpoch', '1.2', int(1))
    await first.say('request', -1n, newSession(9n))
    await first.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    expect(committedLog.min).toBe(zxidOf('2.1'))
    // 2.1 could follow on 1.4, if one did not know of 1.5.
    const txns = ['1.2', '1.3', '1.4'].map((at) => ({ zxid: zxidOf(at), payload: payloadOf(at) }))
    answer(txns)
    expect((await late.heard())[1]).toBe('snap 2.1')
  })

  test('is sent again if a follower comes back with uncommitted transactions', async () => {
    const first = await follower(2n)
    committedLog.add({ zxid: zxidOf('1.5'), payload: payloadOf('1.5') })
    await first.say('request', -1n, newSession(9n))
    const late = await follower(3n, '2.1', -1)
    expect(await late.heard()).toEqual(['upToDate -1', 'proposal 2.1'])
  })
})

describe('a quorum', () => {
  test('that is lost ends the leadership at once', async () => {
    const learner = await follower(2n)
    expect(leader.isEstablished).toBe(true)
    learner.link.lost()
    await learner.heard()
    expect(reason).toMatch('lost')
  })

  test('that is silent ends the leadership in time', async () => {
    await follower(2n)
    for (let half = 0; half < 16; half++) {
      leading.halfTick()
      await parts.host.pass(500)
    }
    expect(reason).toMatch('not been heard of')
  })

  test('commits in order: an ACK covers all earlier transactions', async () => {
    const learner = await follower(2n)
    await learner.heard()
    for (const id of [7n, 8n, 9n]) await learner.say('request', -1n, newSession(id))
    await learner.say('ack', '2.3')
    expect(await learner.heard()).toEqual(['proposal 2.1', 'proposal 2.2', 'proposal 2.3'])
    leading.logged(zxidOf('2.2'))
    expect(await learner.heard()).toEqual(['commit 2.1', 'commit 2.2'])
    leading.logged(zxidOf('2.3'))
    expect(await learner.heard()).toEqual(['commit 2.3'])
  })

  test('notifies the requesting learner first, and no learner that is gone', async () => {
    const [second, third] = [await follower(2n), await follower(3n)]
    const told: string[] = []
    for (const [name, { link }] of Object.entries({ second, third })) {
      const send = link.sendPacket.bind(link)
      link.sendPacket = (packet) => {
        if (packet.type === packetTypes.commit) told.push(name)
        send(packet)
      }
    }
    await third.say('request', -1n, newSession(7n))
    await second.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    await second.say('request', -1n, newSession(8n))
    await third.say('ack', '2.2')
    leading.logged(zxidOf('2.2'))
    expect(told).toEqual(['third', 'second', 'second', 'third'])
    await third.say('request', -1n, newSession(9n))
    third.link.lost()
    await second.say('ack', '2.3')
    leading.logged(zxidOf('2.3'))
    expect(told.slice(4)).toEqual(['second'])
  })

  test('ignores an ACK of transactions that its server had to cut off', async () => {
    committedLog.add({ zxid: zxidOf('1.5'), payload: payloadOf('1.5') })
    const other = await follower(3n)
    const learner = await follower(2n)
    await learner.say('request', -1n, newSession(8n))
    await learner.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    await learner.say('request', -1n, newSession(9n))
    await learner.say('ack', '2.2')
    learner.link.lost()
    const back = await introduce(2n, '2.0')
    await back.say('ackEpoch', '2.2', int(-1))
    expect(await back.heard()).toContain('trunc 2.1')
    await other.heard()
    leading.logged(zxidOf('2.2'))
    expect(await other.heard()).toEqual([])
    await back.say('ack', '2.0')
    await back.say('ack', '2.2')
    expect(await other.heard()).toEqual(['commit 2.2'])
  })

  test("answers an observer about a session only after the session's earlier writes", async () => {
    const learner = await follower(2n)
    const observer = await introduce(4n, '1.0', 'observerInfo')
    await observer.say('ackEpoch', '2.0', int(-1))
    await observer.say('ack', '2.0')
    await learner.say('request', -1n, newSession(7n))
    await learner.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    await observer.heard()
    await learner.say(
      'request',
      -1n,
      request(7n, -11, () => {}),
    )
    await learner.say('request', -1n, newSession(8n))
    const asked = new Writer(12)
    asked.long(8n)
    asked.int(4000)
    await observer.say('revalidate', -1n, new Uint8Array(asked.written()))
    expect(await observer.heard()).toEqual([])
    await learner.say('ack', '2.3')
    leading.logged(zxidOf('2.3'))
    const heard = await observer.heard()
    expect(heard.slice(0, 2)).toEqual(['inform 2.2', 'inform 2.3'])
    expect(heard[2]).toMatch('revalidate')
  })

  test('ignores an ACK of a transaction that was not proposed', async () => {
    const learner = await follower(2n)
    await learner.say('request', -1n, newSession(7n))
    await learner.heard()
    await learner.say('ack', '2.9')
    leading.logged(zxidOf('2.1'))
    expect(await learner.heard()).toEqual([])
  })

  test('is not made of observers', async () => {
    await follower(2n)
    const observer = await introduce(4n, '1.0', 'observerInfo')
    await observer.say('ackEpoch', '2.0', int(-1))
    await observer.say('ack', '2.0')
    await observer.heard()
    await observer.say('request', -1n, newSession(9n))
    leading.logged(zxidOf('2.1'))
    await observer.say('ack', '2.1')
    expect(await observer.heard()).toEqual([])
  })
})

describe('a leader that is about to stop', () => {
  test('names as its successor one that is in its epoch, not one that is about to be', async () => {
    const second = await follower(2n)
    expect(leader.isEstablished).toBe(true)
    expect(leader.successor()).toBeUndefined()
    await second.say('ack', '2.0')
    expect(leader.successor()).toBe(2n)
  })

  test('does not name one that has a vote only in the proposed configuration', async () => {
    const proposed = parseMembership(
      [1, 2, 3, 4].map((id) => `server.${id}=h${id}:2888:3888:participant`).join('\n') +
        '\nversion=ff00000000',
    )
    if ('problem' in proposed) throw new Error(proposed.problem)
    leading.end(new Error('another takes its place'))
    await lead('1.5', 1n, {}, undefined, true)
    for (const id of [2n, 4n]) await (await follower(id)).say('ack', '2.0')
    configs.see(proposed.value)
    expect(configs.verifier.voters.has(4n)).toBe(true)
    expect(leader.successor()).toBe(2n)
  })

  test('commits what it has proposed, and proposes nothing more', async () => {
    const learner = await follower(2n)
    await learner.heard()
    await learner.say('request', -1n, newSession(7n))
    let isFinished = false
    void leading.finish().then(() => (isFinished = true))
    await learner.say('request', -1n, newSession(8n))
    leading.logged(zxidOf('2.1'))
    expect(await learner.heard()).toEqual(['proposal 2.1'])
    expect(isFinished).toBe(false)
    await learner.say('ack', '2.1')
    expect(await learner.heard()).toEqual(['commit 2.1'])
    expect(isFinished).toBe(true)
  })

  test('has nothing to wait for when nothing is outstanding', async () => {
    await follower(2n)
    await leading.finish()
  })
})

describe('a slow learner', () => {
  /** Two ticks pass, and those who are named answer. */
  async function ticks(count: number, ...learners: Puppet[]): Promise<void> {
    for (let half = 0; half < 2 * count; half++) {
      await parts.host.pass(500)
      leading.halfTick()
      for (const learner of learners) {
        await learner.heard()
        if (!learner.isClosed) await learner.say('ping', '2.0', new Uint8Array(0))
      }
    }
  }

  test('that answers, but does not acknowledge a proposal in time, is dropped', async () => {
    const quick = await follower(2n)
    const slow = await follower(3n, '2.0', -1)
    await quick.say('request', -1n, newSession(9n))
    await quick.say('ack', '2.1')
    leading.logged(zxidOf('2.1'))
    await ticks(5, quick, slow)
    expect(dropped).toEqual([])
    await ticks(1, quick, slow)
    expect(dropped).toEqual(['3: it did not acknowledge a proposal in time'])
    expect([quick.isClosed, slow.isClosed]).toEqual([false, true])
    expect(reason).toBeUndefined()
  })

  test('that acknowledges late, but goes on doing so, is kept', async () => {
    const quick = await follower(2n)
    const slow = await follower(3n, '2.0', -1)
    for (let counter = 1; counter < 10; counter++) {
      await quick.say('request', -1n, newSession(BigInt(counter)))
      await ticks(3, quick, slow)
      await quick.say('ack', `2.${counter}`)
      await slow.say('ack', `2.${counter}`)
    }
    expect(dropped).toEqual([])
  })

  test('owes nothing for the history that it joined with', async () => {
    const first = await follower(2n)
    await first.say('request', -1n, newSession(9n))
    const late = await introduce(3n, '1.0')
    await late.say('ackEpoch', '2.1', int(-1))
    late.skipSnapshot()
    await late.say('ack', '2.0')
    await first.say('ack', '2.1')
    await late.say('ack', '2.1')
    await ticks(8, first, late)
    expect(dropped).toEqual([])
  })

  test('with too long a queue is dropped, and the others are not', async () => {
    await lead('1.5', 1n, { learnerQueueBytesMax: 300 })
    const quick = await follower(2n)
    const slow = await follower(3n, '2.0', -1)
    for (let counter = 1; counter < 9; counter++) {
      await quick.say('request', -1n, newSession(BigInt(counter)))
      await quick.say('ack', `2.${counter}`)
      leading.logged(zxidOf(`2.${counter}`))
      await quick.heard()
    }
    expect(dropped).toEqual(['3: too many bytes are queued for it'])
    expect([quick.isClosed, slow.isClosed]).toEqual([false, true])
  })

  test('with too long a queue before it is up to date is dropped as well', async () => {
    await lead('1.5', 1n, { learnerQueueBytesMax: 200 })
    const quick = await follower(2n)
    const joining = await introduce(3n, '1.0')
    await joining.say('ackEpoch', '2.0', int(-1))
    for (let counter = 1; counter < 9; counter++) {
      await quick.say('request', -1n, newSession(BigInt(counter)))
      await joining.heard()
      await quick.heard()
    }
    expect(dropped).toEqual(['3: too many bytes are queued for it'])
  })
})

test('a request with very many identities is refused, and its follower stays', async () => {
  const learner = await follower(2n)
  await learner.say('request', -1n, newSession(7n))
  await learner.heard()
  const authinfo = Array.from({ length: 5000 }, (_, i) => ({ scheme: 'digest', id: `${i}:h` }))
  const setData = request(7n, 5, (writer) => {
    writer.ustring('/')
    writer.buffer(null)
    writer.int(-1)
  })
  await learner.sayRaw(encodePacket('request', -1n, setData, authinfo))
  expect(await learner.heard()).toEqual(['proposal 2.2'])
  await learner.say('request', -1n, setData)
  expect(await learner.heard()).toEqual(['proposal 2.3'])
  leading.logged(zxidOf('2.3'))
  await learner.say('ack', '2.3')
  expect(parts.pipeline.db.tree.version(parts.pipeline.db.tree.find('/'))).toBe(1)
  expect(dropped).toEqual([])
})

describe('a sync', () => {
  const sync = request(9n, 9, (writer) => writer.ustring('/'))

  test('is answered at once if nothing is outstanding and it need not be linearizable', async () => {
    await lead('1.5', 1n, { confirmSyncs: false })
    const learner = await follower(2n)
    await learner.heard()
    await learner.say('request', -1n, sync)
    expect(await learner.heard()).toEqual(['sync 0.0'])
  })

  test('is answered once a quorum has answered a later ping', async () => {
    const learner = await follower(2n)
    await follower(3n)
    await learner.heard()
    await learner.say('request', -1n, sync)
    expect(await learner.heard()).toEqual(['ping 2.0'])
    expect(leader.pendingSyncs).toBe(1)
    await learner.say('ping', '2.0')
    expect(await learner.heard()).toEqual(['sync 0.0'])
    expect(leader.pendingSyncs).toBe(0)
  })

  test('is not confirmed by the answer to an earlier ping', async () => {
    const learner = await follower(2n)
    await follower(3n)
    await learner.heard()
    leading.halfTick()
    await learner.say('request', -1n, sync)
    await learner.say('ping', '2.0')
    expect(await learner.heard()).toEqual(['ping 2.0', 'ping 2.0'])
    await learner.say('ping', '2.0')
    expect(await learner.heard()).toEqual(['sync 0.0'])
  })

  test('shares a round of pings with all that come while one is open', async () => {
    const learner = await follower(2n)
    await learner.heard()
    for (let i = 0; i < 4; i++) await learner.say('request', -1n, sync)
    expect(await learner.heard()).toEqual(['ping 2.0'])
    await learner.say('ping', '2.0')
    expect(await learner.heard()).toEqual(['ping 2.0', 'sync 0.0'])
    await learner.say('ping', '2.0')
    expect(await learner.heard()).toEqual(['sync 0.0', 'sync 0.0', 'sync 0.0'])
  })

  test('is confirmed by a learner that becomes up to date meanwhile', async () => {
    const leaves = await follower(2n)
    const silent = await follower(3n)
    await silent.say('request', -1n, sync)
    leaves.link.lost()
    const back = await introduce(2n, '2.0')
    await back.say('ackEpoch', '2.0', int(-1))
    await back.heard()
    await back.say('ack', '2.0')
    expect(await back.heard()).toEqual(['upToDate -1', 'ping 2.0'])
    expect(leader.pendingSyncs).toBe(1)
    await back.say('ping', '2.0')
    expect(leader.pendingSyncs).toBe(0)
  })

  test.each([true, false])(
    'is answered behind everything that was outstanding, and before what came later (confirmed: %s)',
    async (confirmSyncs) => {
      await lead('1.5', 1n, { confirmSyncs })
      const learner = await follower(2n)
      await learner.heard()
      await learner.say('request', -1n, newSession(7n))
      await learner.say('request', -1n, sync)
      await learner.say('request', -1n, newSession(8n))
      leading.logged(zxidOf('2.2'))
      await learner.say('ack', '2.1')
      await learner.say('ack', '2.2')
      const told = ['commit 2.1', 'sync 0.0', 'commit 2.2']
      const heard = await learner.heard()
      if (confirmSyncs) {
        expect(heard).toEqual(['proposal 2.1', 'ping 2.1', 'proposal 2.2', 'commit 2.1'])
        await learner.say('ping', '2.1')
        expect(await learner.heard()).toEqual(told.slice(1))
      } else {
        expect(heard.slice(2)).toEqual(told)
      }
    },
  )
})

describe('a leader that may have been replaced', () => {
  let held: boolean[]

  async function established(): Promise<Puppet> {
    held = []
    await lead('1.5', 1n, {}, undefined, false, (isOn) => held.push(isOn))
    const learner = await follower(2n)
    await follower(3n)
    await learner.heard()
    return learner
  }

  test.each([
    ['stood still', 2000, 3001],
    ['has not heard of a quorum for almost as long as followers wait', 4500, 4501],
  ])('as it %s answers nobody before a quorum says that it still follows', async (_, from, to) => {
    const learner = await established()
    leading.passed(from, from)
    leading.passed(from, to)
    expect(held).toEqual([true])
    await learner.say('request', -1n, newSession(7n))
    leading.logged(zxidOf('2.1'))
    await learner.say('ack', '2.1')
    expect(await learner.heard()).toEqual(['ping 2.0', 'proposal 2.1'])
    await learner.say('ping', '2.0')
    expect(held).toEqual([true, false])
    expect(await learner.heard()).toEqual(['commit 2.1'])
  })

  test('before it was established asks first, because its followers may have left', async () => {
    held = []
    await lead('1.5', 1n, {}, undefined, false, (isOn) => held.push(isOn))
    const learner = await introduce(2n, '1.0')
    await learner.say('ackEpoch', '1.5', int(1))
    await learner.heard()
    leading.passed(2000, 3001)
    await learner.say('ack', '2.0')
    expect(await learner.heard()).toEqual(['upToDate -1', 'ping 2.0'])
    expect(held).toEqual([true])
    await learner.say('ping', '2.0')
    expect(held).toEqual([true, false])
  })

  test('does not take the answer to an old ping as a confirmation', async () => {
    const learner = await established()
    leading.halfTick()
    leading.passed(0, 1001)
    await learner.say('ping', '2.0')
    expect(held).toEqual([true])
    await learner.say('ping', '2.0')
    expect(held).toEqual([true, false])
  })

  test('continues if its pings are answered', async () => {
    const learner = await established()
    for (let ms = 500; ms < 20_000; ms += 500) {
      await parts.host.pass(500)
      leading.passed(ms - 500, ms)
      leading.halfTick()
      await learner.say('ping', '2.0')
    }
    expect(held).toEqual([])
  })
})

test('a server that knows a newer configuration is refused', async () => {
  const learner = new Puppet()
  leading.accept(learner.link)
  const writer = new Writer(20)
  LearnerInfo.write(writer, { serverId: 2n, protocolVersion: 0x10000, configVersion: 7n })
  await learner.say('followerInfo', '1.0', new Uint8Array(writer.written()))
  expect(refused).toEqual(['server 2 knows a newer configuration than its leader'])
})
