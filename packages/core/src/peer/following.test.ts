/** A learner, and a leader that is played by hand. */
import { encodeText, Writer } from '@zabra/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { LoadingDatabase } from '../storage/recovery/load.ts'
import { CommittedLog } from '../storage/log/committed-log.ts'
import { Deferred } from '../base/deferred.ts'
import type { MembershipState } from '../membership/membership-state.ts'
import { Following, type FollowingParts } from './following.ts'
import type { LeaderUpstream } from './leader-upstream.ts'
import type { Learner } from '../consensus/zab/learner.ts'
import { ZabStats } from '../consensus/zab/zab-stats.ts'
import { formatMembership } from '../membership/membership.ts'
import { sendSnapshot, receiveSnapshot } from './links/snapshot-stream.ts'
import {
  makeParts,
  membersOf,
  payloadOf,
  Puppet,
  threeMembers,
  settled,
  show,
  zxidOf,
  type TestParts,
} from '../../test/support/puppet.ts'

const options = { tickMs: 1000, initLimit: 10, syncLimit: 5 }

let parts: TestParts
let leader: Puppet
let following: Following
let learner: Learner
let reason: string | undefined
/** The disk operations of the learner. */
let done: string[]
let flushing: Deferred<void> | undefined
let storing: Deferred<void> | undefined

beforeEach(() => join('1.5', 1n))

async function join(
  lastZxid: string,
  accepted: bigint,
  given: Partial<FollowingParts> = {},
): Promise<void> {
  parts = await makeParts(lastZxid, accepted)
  const { db, epochs, pipeline, host } = parts
  leader = new Puppet()
  done = []
  reason = flushing = storing = undefined
  following = new Following(
    {
      self: 2n,
      leader: 1n,
      elected: 1n,
      isObserver: false,
      epochs,
      db,
      pipeline,
      committedLog: new CommittedLog(),
      configs: threeMembers(),
      wantsEverything: false,
      clock: {
        get nowMs() {
          return host.nowMs
        },
        wallMs: 0,
      },
      stats: new ZabStats(),
      remedyForTree: () => 'none',
      trace: () => {},
      history: { append: ({ zxid }) => done.push(`append ${show(zxid)}`) },
      flush: async () => {
        await flushing?.promise
        done.push(`flush, epoch ${epochs.current}`)
      },
      loadFrom: async (link, zxid) => {
        const loading = new LoadingDatabase(db.options)
        await receiveSnapshot(link, loading)
        loading.lastZxid = zxid
        loading.db.finishLoading()
        db.adopt(loading.db)
        done.push(`load ${show(zxid)}`)
      },
      truncate: async (zxid) => {
        done.push(`truncate ${show(zxid)}`)
        db.lastZxid = zxid
      },
      takeSnapshot: async () => {
        await storing?.promise
        done.push(`snapshot ${show(db.lastZxid)}, epoch ${epochs.current}`)
      },
      abandonSnapshot: () => done.push('abandon'),
      serving: () => done.push('serve'),
      ...given,
    },
    options,
    leader.link,
  )
  learner = following.learner
  following.run().catch((error: Error) => {
    reason = error.message
  })
}

/** Up to the point at which the leader sends its history. */
async function agree(epoch = '2.0'): Promise<string[]> {
  await leader.say('leaderInfo', epoch, new Uint8Array(4))
  return leader.heard()
}

async function txns(...zxids: string[]): Promise<void> {
  for (const zxid of zxids) {
    await leader.say('proposal', zxid, payloadOf(zxid))
    await leader.say('commit', zxid)
  }
}

async function snapshotBytes(): Promise<Uint8Array> {
  const { db } = await makeParts('0.0', 0n)
  const sender = new Puppet()
  await sendSnapshot(sender.link, db.snapshotSource(), () => Promise.resolve())
  return new Uint8Array(sender.link.out.written())
}

test('a follower joins step by step, and is durable before it says so', async () => {
  expect(await leader.heard()).toEqual(['followerInfo 1.0'])
  expect(await agree()).toEqual(['ackEpoch 1.5'])
  expect(parts.epochs).toMatchObject({ accepted: 2n, current: 1n })
  flushing = new Deferred()
  await leader.say('diff', '1.7')
  await txns('1.6', '1.7')
  await leader.say('newLeader', '2.0')
  expect(done).toEqual(['abandon', 'append 1.6', 'append 1.7'])
  expect(await leader.heard()).toEqual([])
  flushing.resolve()
  expect(await leader.heard()).toEqual(['ack 2.0'])
  expect(done.at(-1)).toBe('flush, epoch 1')
  expect(parts.epochs.current).toBe(2n)
  expect(parts.pipeline.upstream).toBeUndefined()
  await leader.say('ping', '2.0')
  expect(await leader.heard()).toEqual([])
  await leader.say('upToDate', -1n)
  expect(await leader.heard()).toEqual(['ack 2.0'])
  expect(parts.pipeline.upstream).toBe(following.upstream)
})

async function serving(): Promise<void> {
  await agree()
  await leader.say('diff', '1.5')
  await leader.say('newLeader', '2.0')
  await leader.say('upToDate', -1n)
  await leader.heard()
  done.length = 0
}

describe('a proposal', () => {
  test('is acknowledged once it is durable, one by one and in order', async () => {
    await serving()
    for (const zxid of ['2.1', '2.2', '2.3']) await leader.say('proposal', zxid, payloadOf(zxid))
    expect(await leader.heard()).toEqual([])
    following.logged((2n << 32n) | 2n)
    expect(await leader.heard()).toEqual(['ack 2.1', 'ack 2.2'])
    following.logged((2n << 32n) | 3n)
    expect(await leader.heard()).toEqual(['ack 2.3'])
  })

  test("that is committed before this server's log has it is applied, and acknowledged later", async () => {
    await serving()
    await txns('2.1')
    expect(show(parts.db.lastZxid)).toBe('2.1')
    following.logged((2n << 32n) | 1n)
    expect(await leader.heard()).toEqual(['ack 2.1'])
  })

  test('that came before UPTODATE is committed after it', async () => {
    await agree()
    await leader.say('diff', '1.5')
    await leader.say('newLeader', '2.0')
    await txns('2.1')
    await leader.say('proposal', '2.2', payloadOf('2.2'))
    expect(show(parts.db.lastZxid)).toBe('1.5')
    await leader.heard()
    await leader.say('upToDate', -1n)
    expect(show(parts.db.lastZxid)).toBe('2.1')
    expect(done.slice(-2)).toEqual(['append 2.1', 'append 2.2'])
    expect(learner.uncommitted.map(({ zxid }) => show(zxid))).toEqual(['2.2'])
  })

  test.each([
    ['leaves a gap', '2.3', payloadOf('2.3')],
    ['repeats what was logged', '1.5', payloadOf('1.5')],
    ['cannot be read', '2.1', new Uint8Array(5)],
    ['is of an unknown kind', '2.1', Uint8Array.from(payloadOf('2.1')).fill(0x55, 28, 32)],
    ['is another one than it says', '2.1', payloadOf('2.2')],
    ['is empty', '2.1', null],
  ])('that %s costs the connection, and never reaches the log', async (_, zxid, payload) => {
    await serving()
    await leader.say('proposal', zxid, payload)
    expect(leader.isClosed).toBe(true)
    expect(reason).toBeDefined()
    expect(done).toEqual([])
  })

  test.each([
    ['leaves a gap', ['1.7']],
    ['goes back', ['1.6', '1.6']],
    ['begins an epoch in its middle', ['2.2']],
  ])('in a history that %s ends the joining', async (_, zxids) => {
    await agree()
    await leader.say('diff', '2.9')
    for (const zxid of zxids) await leader.say('proposal', zxid, payloadOf(zxid))
    expect(reason).toMatch('something is missing')
    expect(done).toEqual([])
  })
})

describe('a commit', () => {
  test('of another transaction than the next proposal costs the connection', async () => {
    await serving()
    await leader.say('proposal', '2.1', payloadOf('2.1'))
    await leader.say('commit', '2.2')
    expect(reason).toMatch('not the next proposal')
    expect(learner.uncommitted.map(({ zxid }) => show(zxid))).toEqual(['2.1'])
  })

  test('of a check, which some old leaders propose, changes nothing', async () => {
    await serving()
    const check = payloadOf('2.1')
    check.set([0, 0, 0, 13], 28)
    await leader.say('proposal', '2.1', check)
    await leader.say('commit', '2.1')
    expect(show(parts.db.lastZxid)).toBe('2.1')
    expect(parts.db.sessions.size).toBe(0)
  })
})

describe('an epoch', () => {
  test('older than one that was promised is refused', async () => {
    await join('1.5', 3n)
    expect(await leader.heard()).toEqual(['followerInfo 3.0'])
    await leader.say('leaderInfo', '2.0', new Uint8Array(4))
    expect(reason).toMatch('older')
    expect(parts.epochs.accepted).toBe(3n)
  })

  test('promised before is not promised again, but lets the leader go on', async () => {
    await join('1.5', 2n)
    await leader.heard()
    expect(await agree('2.0')).toEqual(['ackEpoch 1.5'])
  })

  test('that cannot be stored is not promised', async () => {
    parts.disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
    await leader.heard()
    expect(await agree()).toEqual([])
    expect(reason).toMatch('EIO')
  })
})

describe('a snapshot', () => {
  test('is durable before its epoch is entered', async () => {
    await agree()
    await leader.say('snap', '1.9')
    await leader.sayRaw(await snapshotBytes())
    expect(learner.memoryDiffersFromDisk).toBe(true)
    expect(parts.db.isExact).toBe(false)
    await txns('1.10')
    await leader.say('newLeader', '2.0')
    // Later transactions are in it, so the stored snapshot is exact and needs no log.
    expect(done).toEqual(['load 1.9', 'snapshot 1.10, epoch 1', 'flush, epoch 1'])
    expect(learner.memoryDiffersFromDisk).toBe(false)
    expect(parts.db.isExact).toBe(true)
    expect(parts.epochs.current).toBe(2n)
  })

  test('may be followed by transactions it contains, which are not applied again', async () => {
    await agree()
    await leader.say('snap', '1.9')
    await leader.sayRaw(await snapshotBytes())
    await txns('1.8', '1.9', '1.10')
    await leader.say('newLeader', '2.0')
    expect(done).toContain('snapshot 1.10, epoch 1')
    expect(await leader.heard()).toEqual(['ack 2.0'])
  })

  test("that ends before this server's history is stored under a later zxid", async () => {
    await agree()
    await leader.say('snap', '1.3')
    await leader.sayRaw(await snapshotBytes())
    expect(done).toEqual(['load 2.0'])
  })

  test('that breaks off leaves the database unchanged', async () => {
    await agree()
    await leader.say('snap', '1.9')
    await leader.sayRaw((await snapshotBytes()).subarray(0, 40))
    leader.link.lost()
    await settled()
    expect(reason).toMatch('lost')
    expect(learner.memoryDiffersFromDisk).toBe(false)
    expect(show(parts.db.lastZxid)).toBe('1.5')
  })

  test("is requested if this server's history is useless", async () => {
    await join('1.5', 1n, { wantsEverything: true })
    await leader.heard()
    expect(await agree()).toEqual(['ackEpoch -1'])
  })

  test.each([
    ['says what there is', false, [-1, 1, 1, 5]],
    ['says nothing where there should be more', true, [-1]],
  ])('%s of our own then, where Apache does not look', async (_, lacksData, ints) => {
    await join('1.5', 1n, { wantsEverything: true, lacksData })
    await leader.heard()
    await leader.say('leaderInfo', '2.0', new Uint8Array(4))
    const { out } = leader.link
    const data = Buffer.from(out.bytes.subarray(out.position - 4 - 4 * ints.length, out.position))
    // Behind the data comes the list of identities, which is none.
    expect(data.readInt32BE(4 * ints.length)).toBe(-1)
    expect(ints.map((_int, i) => data.readInt32BE(4 * i))).toEqual(ints)
  })
})

describe('a role', () => {
  test('does not end before its work on disk is done', async () => {
    await agree()
    storing = new Deferred()
    await leader.say('snap', '1.9')
    await leader.sayRaw(await snapshotBytes())
    await leader.say('newLeader', '2.0')
    leader.link.lost()
    await settled()
    expect(reason).toBeUndefined()
    storing.resolve()
    await settled()
    expect(reason).toMatch('lost')
    expect(learner.memoryDiffersFromDisk).toBe(false)
  })

  test('ends when this server waits for the leader and it is silent for too long', async () => {
    await parts.host.pass(10_000)
    following.tick()
    await settled()
    expect(reason).toBeUndefined()
    await parts.host.pass(1)
    following.tick()
    await settled()
    expect(reason).toMatch('not been heard of')
  })

  test('does not end while the leader waits for this server', async () => {
    await agree()
    storing = new Deferred()
    await leader.say('snap', '1.9')
    await leader.sayRaw(await snapshotBytes())
    await leader.say('newLeader', '2.0')
    for (let second = 0; second < 30; second++) {
      await parts.host.pass(1000)
      following.tick()
    }
    storing.resolve()
    expect(await leader.heard()).toEqual(['ack 2.0'])
  })

  test('ends if the leader does not begin with a history', async () => {
    await agree()
    await leader.say('upToDate', -1n)
    expect(reason).toMatch('expected')
  })
})

test('an observer logs and applies transactions, and acknowledges none', async () => {
  await join('1.5', 1n, { isObserver: true })
  expect(await leader.heard()).toEqual(['observerInfo 1.0'])
  await serving()
  await leader.say('inform', '2.1', payloadOf('2.1'))
  following.logged((2n << 32n) | 1n)
  expect(done).toEqual(['append 2.1'])
  expect(await leader.heard()).toEqual([])
  expect(show(parts.db.lastZxid)).toBe('2.1')
})

test('the answer to a ping names the active sessions, once', async () => {
  await serving()
  const touched = { sessionId: 0x42n, timeoutMs: 4000 }
  following.upstream.touch(touched as Parameters<LeaderUpstream['touch']>[0])
  const told = new Writer(16)
  told.long(0x42n)
  told.int(4000)
  await leader.say('ping', '2.0')
  expect(Buffer.from(leader.link.out.written()).includes(Buffer.from(told.written()))).toBe(true)
  await leader.heard()
  await leader.say('ping', '2.0')
  expect(Buffer.from(leader.link.out.written()).includes(Buffer.from(told.written()))).toBe(false)
})

describe('a change of members', () => {
  const changeOf = (
    zxid: string,
    ids: readonly bigint[],
  ): { text: Uint8Array; txn: Uint8Array } => {
    const text = encodeText(formatMembership(membersOf(ids, zxidOf(zxid))))
    const body = { path: '/zookeeper/config', data: text, version: -1 }
    return { text, txn: payloadOf(zxid, { type: 16, body }) }
  }
  const named = (leaderId: bigint): Uint8Array => {
    const writer = new Writer(8)
    writer.long(leaderId)
    return new Uint8Array(writer.written())
  }

  let configs: MembershipState

  beforeEach(async () => {
    configs = threeMembers(true)
    await join('1.5', 1n, { configs })
    await agree()
    await leader.say('diff', '1.5')
  })

  test('in NEWLEADER takes effect with UPTODATE', async () => {
    const { text } = changeOf('1.4', [1n, 2n, 3n, 4n])
    await leader.say('newLeader', '2.0', text)
    expect(configs.committed.version).toBe(0n)
    expect(configs.seen?.version).toBe(zxidOf('1.4'))
    await leader.say('upToDate', -1n)
    expect(configs.committed.version).toBe(zxidOf('1.4'))
    expect(reason).toBeUndefined()
  })

  test('that an Apache leader sends before it is committed takes effect with its commit', async () => {
    const { text, txn } = changeOf('2.1', [1n, 2n, 4n])
    await leader.say('newLeader', '2.0', text)
    await leader.say('proposal', '2.1', txn)
    await leader.say('upToDate', -1n)
    expect(configs.committed.version).toBe(0n)
    expect(configs.seen?.version).toBe(zxidOf('2.1'))
    await leader.say('commitAndActivate', '2.1', named(1n))
    expect(configs.committed.version).toBe(zxidOf('2.1'))
    expect(configs.seen).toBeUndefined()
    expect(reason).toBeUndefined()
  })

  test('that names another leader ends following, once it is applied', async () => {
    const { txn } = changeOf('2.1', [2n, 3n])
    await leader.say('newLeader', '2.0', encodeText(formatMembership(configs.committed)))
    await leader.say('upToDate', -1n)
    await leader.say('proposal', '2.1', txn)
    await leader.say('commitAndActivate', '2.1', named(3n))
    expect(reason).toBe('the new configuration is led by server 3')
    expect(show(parts.db.lastZxid)).toBe('2.1')
  })

  test('without the leader, completed by the next one, makes this server look for another', async () => {
    const { text } = changeOf('1.4', [2n, 3n])
    await leader.say('newLeader', '2.0', text)
    await leader.say('upToDate', -1n)
    expect(reason).toBe('the new configuration wants another leader')
  })

  test('that this server has seen is dropped if the leader does not know it', async () => {
    configs.see(membersOf([1n, 2n, 5n], zxidOf('1.9')))
    await leader.say('newLeader', '2.0', encodeText(formatMembership(configs.committed)))
    expect(configs.seen).toBeUndefined()
  })
})
