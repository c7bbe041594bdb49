import { getEventListeners } from 'node:events'
import { createServer } from 'node:net'
import { connect } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAddress } from '../src/ensemble/address.ts'
import { parseConnections } from '../src/ensemble/connections.ts'
import { askWord } from '../src/ensemble/four-letter.ts'
import { judge } from '../src/ensemble/judge.ts'
import { parseMembers } from '../src/ensemble/members.ts'
import { lagBehind, parseStatus } from '../src/ensemble/server-status.ts'
import type { Survey } from '../src/ensemble/survey.ts'
import { exitCodes } from '../src/framework/exit-codes.ts'
import { zabraFor, type Zabra } from './support/zabra.ts'

let server: RunningServer
let zabra: Zabra

beforeAll(async () => {
  server = await startServer({ config: { '4lw.commands.whitelist': 'srvr,ruok,mntr,cons' } })
  zabra = zabraFor(server.connectString)
})
afterAll(() => server.stop())

/** A port where nobody listens. */
async function deadPort(): Promise<number> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { port: number }
  await new Promise((resolve) => listener.close(resolve))
  return port
}

describe('zabra status', () => {
  test('shows a server on its own', async () => {
    const { code, stdout } = await zabra('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ID +SERVER +ROLE.*\n *- +127\.0\.0\.1:\d+ +standalone +zabra \d/)
  })

  test('in JSON, with the zxid in its parts', async () => {
    await using client = await connect(server.connectString)
    await client.create('/status', '')
    const { stdout } = await zabra('status', '--json')
    const { ok, members } = JSON.parse(stdout) as {
      ok: boolean
      members: Record<string, unknown>[]
    }
    expect(ok).toBe(true)
    expect(members).toHaveLength(1)
    expect(members[0]).toMatchObject({ mode: 'standalone', epoch: 0, lag: 0, problem: null })
    expect(members[0]!['zxid']).toMatch(/^0x[0-9a-f]+$/)
  })

  test('a server that does not answer is exit code 1, and is named', async () => {
    const dead = `127.0.0.1:${await deadPort()}`
    const { code, stdout } = await zabra('status', '--servers', `${dead},${server.connectString}`)
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`${dead} +down: connection refused`))
  })
})

test('zabra health judges, and proves that writes commit', async () => {
  const { code, stdout } = await zabra('health', '--write', '--json')
  const { ok, findings } = JSON.parse(stdout) as {
    ok: boolean
    findings: { check: string; verdict: string }[]
  }
  expect([code, ok]).toEqual([0, true])
  expect(findings.map(({ check }) => check)).toContain('write')
  const dead = await zabra(
    'health',
    '--servers',
    `127.0.0.1:${await deadPort()}`,
    '--timeout',
    '300ms',
  )
  expect([dead.code, dead.stdout]).toEqual([
    1,
    expect.stringMatching(/problem +servers: none of them answers/),
  ])
})

test('zabra 4lw passes words on, and says which are not listed', async () => {
  expect((await zabra('4lw', 'ruok')).stdout).toBe('imok\n')
  expect((await zabra('4lw', 'srvr', server.connectString)).stdout).toMatch(/^Zookeeper version/)
  const { code, stderr } = await zabra('4lw', 'wchp')
  expect([code, stderr]).toEqual([5, expect.stringMatching(/4lw\.commands\.whitelist/)])
  expect((await zabra('4lw', 'nonsense')).code).toBe(2)
})

test('zabra sessions and top show this client', async () => {
  await using client = await connect(server.connectString)
  await client.exists('/')
  const session = `0x${BigInt.asUintN(64, client.session!.id).toString(16)}`
  const { stdout } = await zabra('sessions', '--json')
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({ session, server: server.connectString, lastOperation: 'EXIS' }),
  )
  const top = await zabra('top', '-n', '1', '-i', '50ms', '--json')
  const sample = JSON.parse(top.stdout) as {
    servers: { mode: string }[]
    clients: { session: string }[]
  }
  expect(sample.servers[0]!.mode).toBe('standalone')
  expect(sample.clients.map((each) => each.session)).toContain(session)
})

test('zabra sessions and top ask the HTTP API of a server that does not answer cons', async () => {
  await using other = await startServer({
    config: { 'admin.enableServer': 'true', 'admin.serverPort': 0 },
  })
  await using client = await connect(other.connectString)
  await client.exists('/')
  const session = `0x${BigInt.asUintN(64, client.session!.id).toString(16)}`
  const there = ['--servers', other.connectString, '--json']
  const { code, stdout } = await zabra('sessions', ...there)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual([
    expect.objectContaining({ session, server: other.connectString, lastOperation: 'exists' }),
  ])
  const top = await zabra('top', '-n', '1', '-i', '50ms', ...there)
  const { clients } = JSON.parse(top.stdout) as { clients: { session: string }[] }
  expect(clients.map((each) => each.session)).toEqual([session])
})

test('zabra top without a server is exit code 3', async () => {
  const dead = `127.0.0.1:${await deadPort()}`
  const { code, stderr } = await zabra('top', '--servers', dead, '--timeout', '200ms')
  expect([code, stderr]).toEqual([3, expect.stringMatching(/connection refused\n.*zabra dev/)])
})

test('a command that needs zabra says that a server is Apache ZooKeeper', async () => {
  const answers: Readonly<Record<string, string>> = {
    conf: 'clientPort=2181\n',
    srvr: 'Zookeeper version: 3.8.0-abc, built on 2022\nZxid: 0x0\nMode: standalone\n',
  }
  const apache = createServer((socket) => {
    socket.once('data', (word: Buffer) => socket.end(answers[word.toString()] ?? ''))
  })
  await new Promise<void>((resolve) => apache.listen(0, '127.0.0.1', resolve))
  const { port } = apache.address() as { port: number }
  const { code, stderr } = await zabra('history', 'ls', '--servers', `127.0.0.1:${port}`)
  expect([code, stderr]).toEqual([
    7,
    expect.stringMatching(/is Apache ZooKeeper 3\.8\.0\n.*zabra log/),
  ])
  await new Promise((resolve) => apache.close(resolve))
})

test('a question to a server leaves nothing on the signal that would end it', async () => {
  const { signal } = new AbortController()
  const address = parseAddress(server.connectString)
  expect(await askWord(address, 'ruok', { timeoutMs: 5000, signal })).toBe('imok')
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const ended = AbortSignal.abort(new Error('ended'))
  await expect(askWord(address, 'ruok', { timeoutMs: 5000, signal: ended })).rejects.toThrow(
    'ended',
  )
})

test('zabra sessions says why a server shows nothing', async () => {
  await using other = await startServer()
  const { code, stdout, stderr } = await zabra('sessions', '--servers', other.connectString)
  expect({ code, stdout }).toEqual({ code: exitCodes.notAllowed, stdout: '' })
  expect(stderr).toMatch(/does not answer cons, and its admin port refuses: .*\n.*whitelist/)
})

test('zabra latency measures each server, and names the silent one', async () => {
  const dead = `127.0.0.1:${await deadPort()}`
  const servers = `${server.connectString},${dead}`
  const { code, stdout } = await zabra(
    'latency',
    '--servers',
    servers,
    '--duration',
    '100ms',
    '--timeout',
    '500ms',
    '--json',
  )
  const { servers: shown } = JSON.parse(stdout) as {
    servers: { count?: number; problem?: string }[]
  }
  expect(code).toBe(1)
  expect(shown[0]!.count).toBeGreaterThan(0)
  expect(shown[1]!.problem).toBeDefined()
})

test('zabra bench measures every workload and leaves nothing', async () => {
  const { code, stdout } = await zabra(
    'bench',
    '--duration',
    '50ms',
    '-c',
    '2',
    '-d',
    '4',
    '--json',
  )
  const { results } = JSON.parse(stdout) as { results: { workload: string; requests: number }[] }
  expect(code).toBe(0)
  expect(results.map(({ workload }) => workload)).toEqual([
    'create',
    'set',
    'get',
    'mixed',
    'delete',
  ])
  for (const { requests } of results) expect(requests).toBeGreaterThan(0)
  await using client = await connect(server.connectString)
  expect(await client.exists('/zabra-bench')).toBeUndefined()
  await client.create('/own')
  await zabra('bench', '--duration', '10ms', '-c', '1', '--only', 'get', '--path', '/own')
  expect(await client.children('/own')).toEqual([])
})

test('a server on its own has no members to change', async () => {
  expect((await zabra('members')).stderr).toMatch(/not part of an ensemble/)
  expect((await zabra('reconfig')).code).toBe(2)
  expect((await zabra('reconfig', '--remove', '1')).code).not.toBe(0)
})

describe('what servers say', () => {
  test('members, their roles and client ports', () => {
    const text = [
      'server.1=10.0.0.1:2888:3888:participant;0.0.0.0:2181',
      'server.2=[::1]:2888:3888|10.0.0.2:2888:3888:observer;10.9.9.9:2182',
      'server.3=c:2888:3888',
      'version=100000000',
    ].join('\n')
    expect(parseMembers(text).map(({ id, role, client }) => [id, role, client])).toEqual([
      ['1', 'participant', { host: '10.0.0.1', port: 2181 }],
      ['2', 'observer', { host: '10.9.9.9', port: 2182 }],
      ['3', 'participant', undefined],
    ])
  })

  test('connections, as Apache and zabra print them', () => {
    const text =
      ' /127.0.0.1:50172[1](queued=0,recved=17,sent=18,sid=0x100,lop=GETD,est=1700000000000,to=30000,' +
      'lcxid=0x5,lzxid=0x2,lresp=10,llat=0,minlat=0,avglat=1,maxlat=9)\n' +
      ' /[::1]:1[0](queued=0,recved=1,sent=0)\n\n'
    expect(parseConnections(text, 's')).toMatchObject([
      {
        client: '127.0.0.1:50172',
        session: '0x100',
        received: 17,
        lastOperation: 'GETD',
        latencyMs: { max: 9 },
      },
      { client: '[::1]:1', session: undefined, received: 1 },
    ])
  })

  test('a server that does not serve has no status', () => {
    expect(
      parseStatus('This ZooKeeper instance is not currently serving requests\n', undefined),
    ).toBeUndefined()
  })

  test('lag is counted within an epoch only', () => {
    expect(lagBehind(0x2_0000_0005n, 0x2_0000_0002n)).toBe(3)
    expect(lagBehind(0x2_0000_0005n, 0x1_0000_0009n)).toBeUndefined()
  })
})

describe('the judgement of an ensemble', () => {
  const status = (mode: 'leader' | 'follower', zxid: bigint, metrics: [string, number][] = []) => ({
    mode,
    zxid,
    version: '3.9',
    zabraVersion: undefined,
    connections: 0,
    nodes: 0,
    outstanding: 0,
    received: 0,
    sent: 0,
    latencyMs: { average: 0, max: 0 },
    metrics: new Map(metrics),
  })
  const member = (id: string) => ({
    id,
    role: 'participant' as const,
    client: { host: 'h', port: Number(id) },
    spec: '',
  })
  const limits = { lagMax: 10, syncMsMax: 100, outstandingMax: 100 }
  const found = (answers: Survey['answers']): Survey => ({
    answers,
    version: '1',
    newest: 0x100n,
    quorum: 2,
    voters: 3,
    votersUp: answers.filter((each) => each.status !== undefined).length,
    leaders: answers.filter((each) => each.status?.mode === 'leader').length,
    memberProblem: undefined,
    advice: undefined,
  })
  const up = (
    id: string,
    mode: 'leader' | 'follower',
    zxid = 0x100n,
    metrics: [string, number][] = [],
  ) => ({
    member: member(id),
    status: status(mode, zxid, metrics),
    problem: undefined,
  })
  const down = (id: string) => ({
    member: member(id),
    status: undefined,
    problem: 'connection refused',
  })
  const verdicts = (survey: Survey) =>
    judge(survey, limits)
      .filter(({ verdict }) => verdict !== 'ok')
      .map(({ check, verdict }) => `${verdict} ${check}`)

  test('all well', () => {
    expect(verdicts(found([up('1', 'leader'), up('2', 'follower'), up('3', 'follower')]))).toEqual(
      [],
    )
  })

  test('one member down is a problem of that member, and nothing more may fail', () => {
    expect(verdicts(found([up('1', 'leader'), up('2', 'follower'), down('3')]))).toEqual([
      'warning quorum',
      'problem server.3 (h:3)',
    ])
  })

  test('without a quorum there is no leader', () => {
    expect(verdicts(found([up('1', 'follower'), down('2'), down('3')]))).toContain('problem quorum')
  })

  test('lag, slow disks and differing trees', () => {
    const slow = up('2', 'follower', 0x80n, [['avg_fsynctime', 250]])
    const wrong = up('3', 'follower', 0x100n, [['digest_mismatches_count', 1]])
    expect(verdicts(found([up('1', 'leader'), slow, wrong]))).toEqual([
      'warning server.2 (h:2)',
      'warning server.2 (h:2)',
      'problem server.3 (h:3)',
    ])
  })
})
