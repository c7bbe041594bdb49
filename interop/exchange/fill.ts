/** Fills a data directory with everything that can be in it, over an ordinary connection. */
import { createFlags, errorCodes, type Acl, type MultiOp } from '@zabra/protocol'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'

/** A session whose connection was cut, to be resumed on another server. */
export interface LeftSession {
  readonly sessionId: bigint
  readonly password: Uint8Array
  readonly ephemerals: readonly string[]
}

/** The problems with the ephemerals of a resumed session. */
export async function ephemeralsAmiss(client: RawClient, left: LeftSession): Promise<string[]> {
  const amiss: string[] = []
  for (const path of left.ephemerals) {
    const { response } = await client.call('exists', { path, watch: false })
    if (response?.stat.ephemeralOwner === left.sessionId) continue
    amiss.push(`session ${left.sessionId.toString(16)} does not own ${path}`)
  }
  return amiss
}

const sessionMs = 120_000
const hour = 3_600_000n
const largeBytes = 700_000
const acl = (perms: number, scheme: string, id: string): Acl => ({ perms, id: { scheme, id } })

/** Writes below `root`; `volume` is the number of additional transactions that fill the log. */
export async function fill(
  port: number,
  root: string,
  volume: number,
  /** Releases before 3.7 stop when they find a quota with hard limits. */
  hardLimits = true,
): Promise<LeftSession> {
  const client = await RawClient.connect(port, { timeoutMs: sessionMs })
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('ann:secret') })
  await client.create(root, 'the root of it')
  await fillData(client, root)
  await fillKinds(client, root)
  await fillAcls(client, root)
  await fillMultis(client, root)
  await fillQuota(client, root, hardLimits)
  await fillVolume(client, root, volume)
  const left = await leaveSession(port, root)
  await client.close()
  return left
}

async function fillData(client: RawClient, root: string): Promise<void> {
  await client.create(`${root}/null`, null)
  await client.create(`${root}/empty`, '')
  await client.create(`${root}/large`, Buffer.alloc(largeBytes, root))
  await client.create(
    `${root}/bytes`,
    Uint8Array.from({ length: 256 }, (_, i) => i),
  )
  await client.create(`${root}/größe-木`, 'beyond ASCII, in the path and here: 🌲')
  let deep = `${root}/deep`
  for (let i = 0; i < 20; i++, deep += '/deeper') await client.create(deep, `${i}`)
  for (let i = 0; i < 7; i++) {
    const data = i === 3 ? null : Buffer.from(`version ${i + 1}`)
    await client.must('setData', { path: `${root}/empty`, data, version: i })
  }
  await client.must('setData', { path: root, data: Buffer.from('changed'), version: 0 })
}

async function fillKinds(client: RawClient, root: string): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const { path } = await client.create(`${root}/s-`, `${i}`, createFlags.persistentSequential)
    if (i % 3 === 0) await client.must('delete', { path, version: 0 })
  }
  const container = { data: null, acl: openAcl, flags: createFlags.container }
  await client.must('createContainer', { path: `${root}/container`, ...container })
  await client.must('createContainer', { path: `${root}/container/inner`, ...container })
  await client.must('createContainer', { path: `${root}/emptied`, ...container })
  await client.create(`${root}/container/child`)
  await client.create(`${root}/emptied/child`)
  await client.must('delete', { path: `${root}/emptied/child`, version: -1 })
  const ttl = { data: Buffer.from('for a while'), acl: openAcl, ttl: 10n * hour }
  const { persistentTtl, persistentSequentialTtl } = createFlags
  await client.must('createTTL', { path: `${root}/ttl`, flags: persistentTtl, ...ttl })
  await client.must('createTTL', { path: `${root}/ttl-`, flags: persistentSequentialTtl, ...ttl })
  const { path } = await client.create(`${root}/brief`, '', createFlags.ephemeral)
  await client.must('delete', { path, version: 0 })
  await client.must('create', { path: `${root}/old`, data: null, acl: openAcl, flags: 0 })
}

async function fillAcls(client: RawClient, root: string): Promise<void> {
  const lists: Record<string, Acl[]> = {
    readOnly: [acl(1, 'world', 'anyone')],
    digest: [acl(31, 'digest', 'bob:bUCUsDjE8sVfoDq+MfuM12bvsFw=')],
    ip: [acl(31, 'ip', '127.0.0.1'), acl(1, 'ip', '10.0.0.0/8')],
    auth: [acl(31, 'auth', '')],
    several: [acl(5, 'world', 'anyone'), acl(31, 'digest', 'eve:x='), acl(3, 'ip', '1.2.3.4')],
  }
  for (const [name, list] of Object.entries(lists)) {
    const path = `${root}/acl-${name}`
    await client.must('create2', { path, data: null, acl: list, flags: 0 })
  }
  const changed = `${root}/acl-changed`
  await client.create(changed)
  await client.must('setACL', { path: changed, acl: lists['auth']!, version: 0 })
  await client.must('setACL', { path: changed, acl: lists['several']!, version: 1 })
}

async function fillMultis(client: RawClient, root: string): Promise<void> {
  const create = (path: string): MultiOp => ({
    type: 1,
    request: { path, data: Buffer.from('of a multi'), acl: openAcl, flags: 0 },
  })
  const ttlRequest = { path: `${root}/multi/ttl`, data: null, acl: openAcl, flags: 5, ttl: hour }
  const done = await client.must('multi', [
    create(`${root}/multi`),
    create(`${root}/multi/a`),
    { type: 5, request: { path: `${root}/multi`, data: Buffer.from('set'), version: 0 } },
    { type: 13, request: { path: `${root}/multi`, version: 1 } },
    { type: 2, request: { path: `${root}/multi/a`, version: -1 } },
    { type: 21, request: ttlRequest },
  ])
  if (done.some(({ err }) => err !== errorCodes.ok)) throw new Error('a multi was refused')
  const refused: MultiOp[] = [create(`${root}/never`), create(`${root}/multi`), create('/no')]
  await client.call('multi', refused)
  await client.call('delete', { path: `${root}/never`, version: -1 })
}

/** Sets a quota as `setquota` of the shell does. */
async function fillQuota(client: RawClient, root: string, hardLimits: boolean): Promise<void> {
  const quota = `/zookeeper/quota${root}`
  await client.create(quota)
  const hard = hardLimits ? ';byteHardLimit=-1;countHardLimit=-1' : ''
  await client.create(`${quota}/zookeeper_limits`, `count=5000,bytes=90000000${hard}`)
  await client.create(`${quota}/zookeeper_stats`, 'count=0,bytes=0')
  await client.create(`${root}/counted`, 'twelve bytes')
  await client.must('setData', { path: `${root}/counted`, data: Buffer.from('4444'), version: -1 })
}

/** Several connections write at a time, so that snapshots are taken during writes. */
async function fillVolume(client: RawClient, root: string, volume: number): Promise<void> {
  const names = Array.from({ length: 20 }, (_, i) => `${root}/volume-${i}`)
  await Promise.all(names.map((path) => client.create(path)))
  const writes = Array.from({ length: volume }, (_, i) => {
    const path = names[i % names.length]!
    if (i % 5 !== 0) {
      return client.must('setData', { path, data: Buffer.from(`${i}`), version: -1 })
    }
    return i % 10 === 0
      ? client.create(`${path}/${i}`, `${i}`)
      : client.must('delete', { path: `${path}/${i - 5}`, version: -1 }).catch(() => {})
  })
  await Promise.all(writes)
}

async function leaveSession(port: number, root: string): Promise<LeftSession> {
  const owner = await RawClient.connect(port, { timeoutMs: sessionMs })
  const first = await owner.create(`${root}/ephemeral`, 'mine', createFlags.ephemeral)
  const second = await owner.create(`${root}/e-`, null, createFlags.ephemeralSequential)
  await owner.abandon()
  const { sessionId, password } = owner
  return { sessionId, password, ephemerals: [first.path, second.path] }
}
