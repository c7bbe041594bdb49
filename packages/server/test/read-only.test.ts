import { afterEach, beforeEach, expect, test } from 'vitest'
import { readiness } from '../src/admin/probes.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { openAcl } from './support/raw-client.ts'
import { until } from './support/until.ts'

const warning = 'READ-ONLY mode; serving only read-only clients'

let ensemble: EmbeddedEnsemble
beforeEach(async () => {
  const settings = {
    'readonlymode.enabled': 'true',
    'admin.enableServer': 'true',
    'admin.serverPort': '0',
  }
  ensemble = await EmbeddedEnsemble.start(settings)
})
afterEach(() => ensemble.dispose())

test('a server without a quorum serves reads, and everything once it has one again', async () => {
  const alone = ensemble.followers[0]!
  const others = ensemble.ids.filter((id) => id !== alone)
  const writer = await ensemble.connect(alone, { readOnly: true, timeoutMs: 8000 })
  expect(writer.isReadOnly).toBe(false)
  await writer.create('/a', 'x')
  expect(await ensemble.ask(alone, 'isro')).toBe('rw')
  expect(await ensemble.ask(alone, 'srvr')).not.toContain(warning)

  await Promise.all(others.map((id) => ensemble.stop(id)))
  await writer.ended
  const { peer } = ensemble.server(alone)
  await until(() => peer.isReadOnly)

  expect(await ensemble.ask(alone, 'isro')).toBe('ro')
  expect(lines(await ensemble.ask(alone, 'srvr'))).toMatchObject({
    1: warning,
    8: 'Mode: read-only',
  })
  expect(lines(await ensemble.ask(alone, 'stat'))).toMatchObject({ 1: warning, 2: 'Clients:' })
  expect(await ensemble.ask(alone, 'mntr')).toContain('zk_server_state\tread-only\n')
  expect(await command(alone, 'is_read_only')).toMatchObject({ read_only: true })
  expect(await command(alone, 'server_stats')).toMatchObject({ read_only: true })
  expect(readiness(ensemble.server(alone)).status).toBe(503)

  await expect(ensemble.connect(alone)).rejects.toThrow('no answer')
  const reader = await ensemble.connect(alone, { readOnly: true })
  expect(reader.isReadOnly).toBe(true)
  await reader.must('exists', { path: '/a', watch: true })
  const node = { path: '/b', data: null, acl: openAcl, flags: 0 }
  expect((await reader.call('create', node)).err).toBe(-119)

  await ensemble.start(others[0]!)
  await reader.ended
  await until(() => peer.isServing && !peer.isReadOnly)
  expect(await ensemble.ask(alone, 'isro')).toBe('rw')
  const { sessionId, password } = writer
  const back = await ensemble.connect(alone, { session: { sessionId, password } })
  await back.create('/b', 'y')
  await back.close()
})

const lines = (text: string): string[] => text.split('\n')

async function command(id: number, name: string): Promise<unknown> {
  const response = await fetch(`${ensemble.server(id).adminAddress}/commands/${name}`)
  return response.json()
}
