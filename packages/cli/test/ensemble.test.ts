import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EmbeddedEnsemble } from '../../server/test/support/embedded-ensemble.ts'
import { zabraFor, type Zabra } from './support/zabra.ts'

let ensemble: EmbeddedEnsemble
let servers: string
let zabra: Zabra
let folder: string

beforeAll(async () => {
  ensemble = await EmbeddedEnsemble.start({})
  servers = [...ensemble.servers.values()].map(({ connectString }) => connectString).join(',')
  zabra = zabraFor(servers)
  folder = mkdtempSync(join(tmpdir(), 'zabra-'))
})
afterAll(async () => {
  await ensemble.dispose()
  rmSync(folder, { recursive: true })
})

test('status and health see a leader and two followers', async () => {
  const { code, stdout } = await zabra('status', '--json')
  const { ok, voters, quorum, members } = JSON.parse(stdout) as {
    ok: boolean
    voters: number
    quorum: number
    members: { mode: string; lag: number | null }[]
  }
  expect([code, ok, voters, quorum]).toEqual([0, true, 3, 2])
  expect(members.map(({ mode }) => mode).toSorted()).toEqual(['follower', 'follower', 'leader'])
  expect((await zabra('health', '--write')).code).toBe(0)
  const doctor = await zabra('doctor', '--write', '--json')
  const { findings } = JSON.parse(doctor.stdout) as {
    findings: { check: string; verdict: string }[]
  }
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'configuration', verdict: 'ok' }),
  )
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'clock of the leader', verdict: 'ok' }),
  )
})

test('members lists the configuration', async () => {
  const { stdout } = await zabra('members', '--json')
  const { members } = JSON.parse(stdout) as { members: { id: string; role: string }[] }
  expect(members.map(({ id, role }) => `${id} ${role}`)).toEqual([
    '1 participant',
    '2 participant',
    '3 participant',
  ])
})

test('zabra lock never runs two programs at once while servers stop and start', async () => {
  const inside = join(folder, 'inside')
  const log = join(folder, 'log')
  writeFileSync(log, '')
  // Two at once would find the folder of the other.
  const script = `mkdir ${inside} || echo overlap >>${log}; sleep 0.05; rmdir ${inside}; echo done >>${log}`
  const rounds = 6
  const locker = async (): Promise<number[]> => {
    const codes = []
    for (let i = 0; i < rounds; i++) {
      const { code } = await zabra(
        'lock',
        '/locks/one',
        '--timeout',
        '20s',
        '--',
        'sh',
        '-c',
        script,
      )
      codes.push(code)
    }
    return codes
  }
  const lockers = Promise.all([locker(), locker(), locker()])
  for (let round = 0; round < 2; round++) {
    const { leader } = ensemble
    await ensemble.stop(leader)
    await ensemble.start(leader)
  }
  const codes = (await lockers).flat()
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  expect(lines).not.toContain('overlap')
  expect(codes.filter((code) => code === 0).length).toBe(lines.length)
  expect(lines.length).toBeGreaterThan(rounds)
})
