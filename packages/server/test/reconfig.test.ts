/** Changes of members, with real sockets and files. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from '../src/config/config.ts'
import { silent } from '../src/base/logger.ts'
import { RunningServer } from '../src/running/running-server.ts'
import { freePorts } from './support/free-ports.ts'
import { RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

let folder: string
let ports: readonly number[]
let servers: Map<number, RunningServer>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-reconfig-'))
  ports = await freePorts(20)
  servers = new Map()
})

afterEach(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
})

/** The line of a server; each has a second set of ports to move to. */
function line(id: number, given: { quorum?: number; election?: number; client?: number } = {}) {
  const [quorum, election, client] = ports.slice(4 * id - 4)
  const own = { quorum, election, client, ...given }
  return `server.${id}=127.0.0.1:${own.quorum}:${own.election}:participant;127.0.0.1:${own.client}`
}

const spare = (id: number): number => ports[4 * id - 1]!
const directory = (id: number): string => join(folder, String(id))

function write(id: number, members: readonly number[]): void {
  mkdirSync(join(directory(id), 'data'), { recursive: true })
  writeFileSync(join(directory(id), 'data', 'myid'), String(id))
  const lines = [
    '# written by hand',
    'tickTime=400',
    'initLimit=10',
    'syncLimit=5',
    `dataDir=${join(directory(id), 'data')}`,
    'admin.enableServer=false',
    'reconfigEnabled=true',
    'skipACL=yes',
    ...members.map((member) => line(member)),
  ]
  writeFileSync(join(directory(id), 'zoo.cfg'), `${lines.join('\n')}\n`, { mode: 0o600 })
}

async function start(...ids: number[]): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const file = join(directory(id), 'zoo.cfg')
      const { config, diagnostics } = loadConfig({ file, env: {} })
      if (config === undefined) throw new Error(diagnostics.map(formatDiagnostic).join('\n'))
      servers.set(id, await RunningServer.start(config, { logger: silent, inMemory: false }))
    }),
  )
  await until(() => ids.every((id) => servers.get(id)!.peer.isServing))
}

async function threeServing(): Promise<void> {
  for (const id of [1, 2, 3]) write(id, [1, 2, 3])
  await start(1, 2, 3)
}

const idWhere = (state: string): number =>
  [...servers].find(([, server]) => server.ensembleState === state)![0]

async function reconfig(change: { joining?: string; leaving?: string }): Promise<string> {
  const client = await RawClient.connect(servers.get(idWhere('leading'))!.clientPort)
  const { data } = await client.must('reconfig', {
    joiningServers: change.joining ?? null,
    leavingServers: change.leaving ?? null,
    newMembers: null,
    curConfigId: -1n,
  })
  client.socket.destroy()
  return Buffer.from(data ?? []).toString()
}

function versionIn(id: number): string | undefined {
  const text = readFileSync(join(directory(id), 'zoo.cfg'), 'utf8')
  return /dynamicConfigFile=.*\.dynamic\.(\w+)/.exec(text)?.[1]
}

async function writeOn(id: number, path: string): Promise<void> {
  const client = await RawClient.connect(servers.get(id)!.clientPort)
  await client.create(path)
  await client.close()
}

test('the members are stored beside zoo.cfg, and a restart uses them', async () => {
  await threeServing()
  write(4, [1, 2, 3, 4])
  await start(4)
  const text = await reconfig({ joining: line(4) })
  const [, version] = /version=(\w+)$/.exec(text)!
  await until(() => [1, 2, 3, 4].every((id) => versionIn(id) === version))
  const file = join(directory(1), `zoo.cfg.dynamic.${version}`)
  expect(readFileSync(file, 'utf8')).toBe([1, 2, 3, 4].map((id) => line(id)).join('\n'))
  const cfg = readFileSync(join(directory(1), 'zoo.cfg'), 'utf8')
  expect(cfg).toContain('# written by hand\n')
  expect(cfg).not.toContain('server.')
  expect(statSync(join(directory(1), 'zoo.cfg')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(directory(1), 'zoo.cfg.bak'), 'utf8')).toContain('server.3=')

  await Promise.all([...servers.values()].map((server) => server.stop()))
  expect(readdirSync(directory(2))).not.toContain('zoo.cfg.dynamic.next')
  await start(1, 2, 3, 4)
  expect(servers.get(1)!.config.ensemble!.servers.size).toBe(4)
  await writeOn(4, '/after')
}, 30_000)

test('ports move while servers run: of clients, of elections, and of the leader', async () => {
  await threeServing()
  const follower = idWhere('following')
  const { clientPort } = servers.get(follower)!
  await reconfig({ joining: line(follower, { client: spare(follower) }) })
  await until(() => servers.get(follower)!.clientPort === spare(follower))
  await writeOn(follower, '/a')
  await expect(RawClient.connect(clientPort)).rejects.toThrow()

  const other = [...servers.keys()].find(
    (id) => id !== follower && servers.get(id)!.ensembleState === 'following',
  )!
  await reconfig({ joining: line(other, { election: spare(other) }) })
  const leader = idWhere('leading')
  await reconfig({ joining: line(leader, { quorum: spare(leader) }) })
  await until(() => servers.get(leader)!.ensembleState === 'following')
  await until(() => [...servers.values()].every(({ peer }) => peer.isServing))

  // An election reaches all members at their new addresses.
  const next = idWhere('leading')
  await servers.get(next)!.stop()
  servers.delete(next)
  await until(() => [...servers.values()].every(({ peer }) => peer.isServing))
  await start(next)
  await writeOn(next, '/b')
}, 30_000)

test('a server that is no member any more comes back without a vote', async () => {
  await threeServing()
  const gone = idWhere('following')
  await reconfig({ leaving: String(gone) })
  await until(() => servers.get(gone)!.peer.isServing)
  await servers.get(gone)!.stop()
  await start(gone)
  expect(servers.get(gone)!.ensembleState).toBe('following')
  await writeOn(gone, '/c')
}, 30_000)
