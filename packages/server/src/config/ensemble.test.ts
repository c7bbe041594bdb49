import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from './config.ts'
import type { Loaded } from './config.ts'

let dataDir: string
let base: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'zabra-config-'))
  base = `dataDir=${dataDir}\nclientPort=2181\ninitLimit=10\nsyncLimit=5\n`
})

afterEach(() => rmSync(dataDir, { recursive: true }))

const three = 'server.1=a:2888:3888\nserver.2=b:2888:3888\nserver.3=c:2888:3888\n'

function load(text: string, myid?: string): Loaded & { complaints: string[] } {
  if (myid !== undefined) writeFileSync(join(dataDir, 'myid'), myid)
  const loaded = loadConfig({ text, env: {} })
  const complaints = loaded.diagnostics.map((each) => `${each.severity}: ${formatDiagnostic(each)}`)
  return { ...loaded, complaints }
}

test('three servers and a myid make an ensemble', () => {
  const { config, complaints } = load(base + three, '2\n')
  expect(complaints).toEqual([])
  expect(config?.ensemble).toMatchObject({
    serverId: 2,
    role: 'participant',
    hierarchy: undefined,
    initLimit: 10,
    syncLimit: 5,
    dialLimit: 10,
    handshakeTimeoutMs: 15_000,
  })
  expect([...config!.ensemble!.servers.keys()]).toEqual([1, 2, 3])
})

test('a handshake timeout of 0 is derived from the ticks', () => {
  const timeoutOf = (value: string): number | undefined =>
    load(`${base}${three}quorumCnxnTimeoutMs=${value}\n`, '2').config?.ensemble?.handshakeTimeoutMs
  expect(['-1', '0', '7'].map(timeoutOf)).toEqual([15_000, 15_000, 7])
})

test('a member must know its id', () => {
  expect(load(base + three).complaints).toEqual([
    `error: ${join(dataDir, 'myid')}: there is no such file; it must hold the number of this server`,
  ])
  expect(load(base + three, 'two').complaints).toEqual([
    `error: ${join(dataDir, 'myid')}:1: expected a whole number, got "two"`,
  ])
  expect(load(base + three, '9').complaints).toEqual([
    'error: myid: there is no line server.9 for this server',
  ])
})

test('an ensemble needs initLimit and syncLimit', () => {
  const { complaints } = load(`dataDir=${dataDir}\nclientPort=1\n${three}`, '1')
  expect(complaints).toEqual([
    'error: initLimit: must be set in an ensemble',
    'error: syncLimit: must be set in an ensemble',
  ])
})

test('a single server line means a standalone server, with the client port of that line', () => {
  const line = 'server.1=localhost:2888:3888;127.0.0.1:2199'
  const { config } = load(`dataDir=${dataDir}\n${line}`)
  expect(config).toMatchObject({
    ensemble: undefined,
    clientPort: 2199,
    clientPortAddress: '127.0.0.1',
  })
})

test('with standaloneEnabled=false a single line is an ensemble of one', () => {
  const { config } = load(`${base}standaloneEnabled=false\nserver.1=a:2888:3888`, '1')
  expect(config?.ensemble).toMatchObject({ serverId: 1, standaloneEnabled: false })
})

test.each([
  ['server.1=a:1:2:observer', /^error: .*observers need participants/],
  ['server.1=a:1:2\nserver.2=b:1:2:observer', /^error: .*one participant alone/],
  ['server.1=a:1:2\nserver.2=b:1:2', /^warning: .*two voting servers/],
  [`${three}server.4=d:1:2`, /^warning: .*4 voting servers tolerate no more losses than 3/],
  [`${three}peerType=Observer`, /^warning: .*peerType: differs from the role/],
  ['server.x=a:1:2', /^error: .*expected a number after "server."/],
  [`${three}server.1=a:1:2|b:1:2`, /^error: .*multiAddress.enabled/],
  [`${three}group.1=1:2`, /^error: .*server.3: is in no group/],
  [`${three}extendedTypesEnabled=true\nmyid=255`, /^error: .*up to 254/],
  ['server.1=a:1:2;2182\nserver.2=b:1:2\nserver.3=c:1:2', /^error: .*clientPort: differs from/],
])('%s is complained about', (lines, expected) => {
  expect(load(base + lines, '1').complaints).toContainEqual(expect.stringMatching(expected))
})

test('groups and weights make a hierarchy', () => {
  const { config } = load(`${base}${three}group.1=1:2\ngroup.2=3\nweight.3=0`, '3')
  expect(config?.ensemble?.hierarchy).toEqual({
    groups: new Map([
      [1, [1, 2]],
      [2, [3]],
    ]),
    weights: new Map([[3, 0]]),
  })
})

test('members can be in a dynamic file, whose name ends with their version', () => {
  const file = join(dataDir, 'zoo.cfg.dynamic.1000000ab')
  writeFileSync(file, 'server.1=a:1:2:participant;2181\nserver.2=b:1:2;2181\nserver.3=c:1:2;2181')
  const { config } = load(`${base}dynamicConfigFile=${file}`, '1')
  expect(config?.ensemble?.dynamicConfig).toEqual({ file, version: 0x1_0000_00abn })
  expect(config?.ensemble?.servers.size).toBe(3)
})

test('a dynamic file holds all members and nothing else', () => {
  const file = join(dataDir, 'dynamic')
  writeFileSync(file, `${three}version=1\ntickTime=1`)
  const { complaints } = load(`${base}dynamicConfigFile=${file}\nserver.4=d:1:2`, '1')
  expect(complaints).toEqual([
    `error: zoo.cfg:6: server.4: must be in the dynamic configuration file ${file}`,
    `error: ${file}:4: version: the version belongs in the name of the file`,
    `error: ${file}:5: tickTime: only server, group and weight lines belong in this file`,
  ])
})

test('the environment alone can describe an ensemble', () => {
  const env = {
    ZABRA_DATA_DIR: dataDir,
    ZABRA_MYID: '1',
    ZABRA_SERVER_1: 'a:2888:3888;2191',
    ZABRA_SERVER_2: 'b:2888:3888;2191',
    ZABRA_SERVER_3: 'c:2888:3888;2191',
  }
  const { config, diagnostics } = loadConfig({ env })
  expect(diagnostics).toEqual([])
  expect(config).toMatchObject({ clientPort: 2191, ensemble: { serverId: 1, initLimit: 10 } })
})

test('a server whose id forbids TTL nodes disables them, unless they were requested', () => {
  const { config } = load(`${base}${three}server.255=d:1:2:observer`, '255')
  expect(config?.extendedTypes).toBe(false)
})
