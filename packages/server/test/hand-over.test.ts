/** Hands over leadership while clients are at work, with real sockets, files and processes. */
import { afterEach, describe, expect, test } from 'vitest'
import { digestOf } from '../src/auth/authenticator.ts'
import { EnsembleProcesses } from './support/chaos/ensemble-processes.ts'
import { MovingSession } from './support/chaos/moving-session.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { Random } from './support/random.ts'
import { openAcl } from './support/raw-client.ts'
import { inTemporaryFolder } from './support/server-process.ts'

describe('the admin command hand_over', () => {
  let ensemble: EmbeddedEnsemble
  const admin = {
    'admin.enableServer': 'true',
    'admin.serverPort': '0',
    'admin.identities': `digest:${digestOf('user:password')}`,
  }
  const authorization = 'digest user:password'

  const post = (id: number, headers: Record<string, string> = { authorization }) =>
    fetch(`${ensemble.server(id).adminAddress}/commands/hand_over`, { method: 'POST', headers })

  afterEach(() => ensemble.dispose())

  test('lets another server lead, and its own server follow', async () => {
    ensemble = await EmbeddedEnsemble.start(admin)
    const { leader } = ensemble
    const client = await ensemble.connect(leader)
    await client.must('create', { path: '/mine', data: null, acl: openAcl, flags: 1 })
    const { sessionId, password, lastZxid } = client
    const response = await post(leader)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      leader: ensemble.leader,
      command: 'hand_over',
      error: null,
    })
    expect(ensemble.leader).not.toBe(leader)
    expect(ensemble.server(leader).ensembleState).toBe('following')
    const session = { sessionId, password }
    const again = await ensemble.connect(leader, { session, lastZxidSeen: lastZxid })
    const { stat } = await again.must('exists', { path: '/mine', watch: false })
    expect(stat.ephemeralOwner).toBe(sessionId)
    await again.close()
  })

  test('needs a leader, and an authorized caller', async () => {
    ensemble = await EmbeddedEnsemble.start(admin)
    const { leader, followers } = ensemble
    const refused = await post(followers[0]!)
    expect(refused.status).toBe(503)
    expect(await refused.json()).toEqual({
      command: 'hand_over',
      error: 'this server does not lead',
    })
    expect((await post(leader, {})).status).toBe(401)
    const url = `${ensemble.server(leader).adminAddress}/commands/hand_over`
    expect((await fetch(url, { headers: { authorization } })).status).toBe(405)
    expect(ensemble.leader).toBe(leader)
  })
})

test(
  'epochs end by their counter, and no write, session or ephemeral is lost',
  () =>
    inTemporaryFolder(async (dir) => {
      const cfg = 'tickTime=400\ninitLimit=10\nsyncLimit=5\n4lw.commands.whitelist=*'
      const env = { COUNTER_MAX: '100' }
      const ensemble = await EnsembleProcesses.open({ dir, servers: 3, cfg, isProxied: false, env })
      try {
        await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
        const holder = new MovingSession('holder', ensemble, new Random(1), 8000)
        const holding = (await holder.connect(() => false))!
        await holding.must('create', { path: '/held', data: null, acl: openAcl, flags: 1 })
        const held = holding.sessionId
        const written = await writeThroughEpochs(ensemble, 4n)
        await holding.abandon()
        const again = (await holder.connect(() => false))!
        expect(again.sessionId).toBe(held)
        await again.must('exists', { path: '/held', watch: false })
        await again.must('sync', { path: '/' })
        const { children } = await again.must('getChildren', { path: '/', watch: false })
        expect(written.filter((name) => !children.includes(name))).toEqual([])
        expect(ensemble.crashes).toEqual([])
        await again.close()
      } finally {
        await ensemble.close(false)
      }
    }),
  60_000,
)

/** Writes one node after another until an epoch is reached; returns the acknowledged ones. */
async function writeThroughEpochs(ensemble: EnsembleProcesses, epoch: bigint): Promise<string[]> {
  const session = new MovingSession('writer', ensemble, new Random(2), 8000)
  const written: string[] = []
  const isThere = (): boolean => session.lastZxid >> 32n >= epoch
  for (let number = 0; !isThere();) {
    const client = (await session.connect(() => false))!
    while (!isThere()) {
      const name = `n${++number}`
      const request = { path: `/${name}`, data: null, acl: openAcl, flags: 0 }
      const reply = await client.call('create', request).catch(() => undefined)
      if (reply === undefined) break
      expect(reply.err).toBe(0)
      written.push(name)
    }
    await client.abandon()
  }
  return written
}
