/** Metrics and admin answers of the servers of an ensemble, each in its role. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFlags } from '@zabra/protocol'
import { digestOf } from '../src/auth/authenticator.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { until } from './support/until.ts'

type Role = 'leader' | 'follower' | 'observer'
type Answer = Record<string, unknown>

const headers = { Authorization: 'digest user:password' }
const observer = 4
let ensemble: EmbeddedEnsemble

beforeAll(async () => {
  const settings = {
    'admin.enableServer': 'true',
    'admin.serverPort': '0',
    'admin.identities': `digest:${digestOf('user:password')}`,
  }
  ensemble = await EmbeddedEnsemble.start(settings, { withObserver: true })
  const client = await ensemble.connect(ensemble.followers[0]!)
  for (let i = 0; i < 5; i++) await client.create('/n-', 'x', createFlags.persistentSequential)
  const remote = await ensemble.connect(observer)
  await remote.create('/by-observer')
  const { leader } = ensemble
  await until(() =>
    ensemble.ids.every((id) => ensemble.server(id).peer.lastZxid >= remote.lastZxid),
  )
  expect(leader).toBe(ensemble.leader)
})

afterAll(() => ensemble.dispose())

function idOf(role: Role): number {
  if (role === 'leader') return ensemble.leader
  return role === 'follower' ? ensemble.followers[0]! : observer
}

async function command(role: Role, name: string): Promise<Answer> {
  const { adminAddress } = ensemble.server(idOf(role))
  return (await (await fetch(`${adminAddress}/commands/${name}`, { headers })).json()) as Answer
}

async function mntr(role: Role): Promise<ReadonlyMap<string, string>> {
  const lines = (await ensemble.ask(idOf(role), 'mntr')).trim().split('\n')
  return new Map(lines.map((line) => line.split('\t') as [string, string]))
}

const roles = ['leader', 'follower', 'observer'] as const

test.each(roles)('a %s names the leader', async (role) => {
  expect(await command(role, 'leader')).toEqual({
    is_leader: role === 'leader',
    leader_id: ensemble.leader,
    leader_ip: '127.0.0.1',
    command: 'leader',
    error: null,
  })
})

test.each(roles)('a %s says how far it has got, and whether it votes', async (role) => {
  expect(await command(role, 'zabstate')).toMatchObject({
    myid: idOf(role),
    is_leader: role === 'leader',
    voting: role !== 'observer',
    zab_epoch: 1,
    zabstate: 'broadcast',
    quorum_address: { empty: false, all_host_strings: ['127.0.0.1'] },
  })
})

test('the voting members are listed with their addresses', async () => {
  const { current_config: members } = await command('observer', 'voting_view')
  expect(Object.keys(members as Answer)).toEqual(['1', '2', '3'])
  expect((members as Answer)['2']).toMatchObject({ learner_type: 'participant' })
})

test('a leader lists its observers, and resets their counters on request', async () => {
  const answer = await command('leader', 'observers')
  expect(answer).toMatchObject({ synced_observers: 1, observers: [{ sid: observer, requests: 2 }] })
  await command('leader', 'observer_connection_stat_reset')
  expect(await command('leader', 'observers')).toMatchObject({ observers: [{ requests: 0 }] })
  expect(await command('follower', 'observers')).toMatchObject({ observers: [] })
})

describe('mntr', () => {
  test('of a leader counts its learners and its proposals', async () => {
    const values = await mntr('leader')
    const told = (name: string): string | undefined => values.get(`zk_${name}`)
    expect(told('server_state')).toBe('leader')
    expect(told('peer_state')).toBe('leading - broadcast')
    expect(told('learners')).toBe('3')
    expect(told('synced_followers')).toBe('2')
    expect(told('synced_observers')).toBe('1')
    expect(told('synced_non_voting_followers')).toBe('0')
    expect(told('pending_syncs')).toBe('0')
    expect(told('quorum_size')).toBe('3')
    // Two sessions, and six nodes.
    expect(told('proposal_count')).toBe('8')
    expect(told('cnt_quorum_ack_latency')).toBe('8')
    expect(told('cnt_propagation_latency')).toBe('8')
    expect(told('looking_count')).toBe('1')
    expect(told('cnt_election_time')).toBe('1')
    expect(told('cnt_leader_unavailable_time')).toBe('1')
    expect(Number(told('max_proposal_size'))).toBeGreaterThan(Number(told('min_proposal_size')))
    expect(Number(told('diff_count')) + Number(told('snap_count'))).toBe(3)
    expect(Number(told('leader_uptime'))).toBeGreaterThanOrEqual(0)
  })

  test.each(['follower', 'observer'] as const)(
    'of a %s count the packets of its leader',
    async (role) => {
      const values = await mntr(role)
      const told = (name: string): string | undefined => values.get(`zk_${name}`)
      const isObserver = role === 'observer'
      expect(told('peer_state')).toBe(`${isObserver ? 'observing' : 'following'} - broadcast`)
      expect(told('observer_master_id')).toBe(isObserver ? String(ensemble.leader) : undefined)
      expect(told('learner_commit_received_count')).toBe('8')
      expect(told('learner_proposal_received_count')).toBe(isObserver ? '0' : '8')
      expect(told('cnt_commit_propagation_latency')).toBe('8')
      expect(told('cnt_proposal_latency')).toBe(isObserver ? '0' : '8')
      expect(told(`cnt_${role}_sync_time`)).toBe('1')
      expect(told('quorum_size')).toBe('3')
      expect(told('learners')).toBeUndefined()
      expect(told('proposal_count')).toBe('0')
    },
  )
})

test('only a leader reports the sizes of proposals', async () => {
  expect(await ensemble.ask(ensemble.leader, 'srvr')).toMatch(
    /\nProposal sizes last\/min\/max: \d+\/\d+\/\d+\n$/,
  )
  expect(await ensemble.ask(ensemble.followers[0]!, 'srvr')).not.toContain('Proposal')
  expect(await command('leader', 'stats')).toHaveProperty(['proposal_stats', 'max_buffer_size'])
  expect(await command('follower', 'stats')).not.toHaveProperty(['proposal_stats'])
})

test('conf ends with the limits and the members of the ensemble', async () => {
  const answer = await ensemble.ask(observer, 'conf')
  expect(answer).toMatch(new RegExp(`^serverId=${observer}\nadminAddress=http://`, 'm'))
  expect(answer).toContain('\ninitLimit=10\nsyncLimit=5\nelectionAlg=3\n')
  expect(answer).toContain('peerType=1\nmembership: \nserver.1=127.0.0.1:')
  expect(answer).toContain('version=0')
  expect(await command('observer', 'configuration')).toMatchObject({ server_id: observer })
})

test('a server that looks for a leader says so, and answers few commands', async () => {
  const lonely = await EmbeddedEnsemble.start({
    'admin.enableServer': 'true',
    'admin.serverPort': '0',
  })
  try {
    const last = lonely.server(lonely.leader)
    for (const id of lonely.followers) await lonely.stop(id)
    await until(() => !last.peer.isServing)
    const ask = async (name: string): Promise<Answer> =>
      (await (await fetch(`${last.adminAddress}/commands/${name}`)).json()) as Answer
    expect(await ask('lead')).toEqual({
      command: 'lead',
      error: 'This ZooKeeper instance is not currently serving requests',
    })
    expect(await ask('monitor')).toMatchObject({ peer_state: 'looking', error: null })
  } finally {
    await lonely.dispose()
  }
})
