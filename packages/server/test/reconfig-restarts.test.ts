/** Every configuration that `reconfig` accepts is one that every member can start with. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { errorCodes } from '@zabra/protocol'
import { ConfigFiles, membersAfter, parseMembership, type Membership } from '@zabra/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from '../src/config/config.ts'
import { NodeDisk } from '../src/disk/node-disk.ts'

let folder: string

/** These files need not survive a loss of power. */
const disk = new NodeDisk()
disk.syncDirectory = async () => {}
const create = disk.create.bind(disk)
disk.create = async (path, options) =>
  Object.assign(await create(path, options), { sync: async () => {} })

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-restarts-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Request = Parameters<typeof membersAfter>[1]

interface Settings {
  readonly multiAddressEnabled: boolean
  readonly standaloneEnabled: boolean
}

/** The result of a member's next start, with the files that it has written for these members. */
async function restart(id: number, members: Membership, settings: Settings): Promise<string[]> {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  const file = join(dataDir, 'zoo.cfg')
  writeFileSync(join(dataDir, 'myid'), `${id}`)
  const lines = [
    `dataDir=${dataDir}`,
    'clientPort=2181',
    'initLimit=10',
    'syncLimit=5',
    'reconfigEnabled=true',
    `multiAddress.enabled=${settings.multiAddressEnabled}`,
    `standaloneEnabled=${settings.standaloneEnabled}`,
    ...start.split('\n'),
  ]
  writeFileSync(file, lines.join('\n'))
  await new ConfigFiles(disk, file, BigInt(id)).saveCommitted(members)
  const { diagnostics, config } = loadConfig({ file, env: {} })
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(formatDiagnostic)
  if (errors.length > 0) return [...errors, readFileSync(file, 'utf8')]
  const found = [...(config?.ensemble?.servers.keys() ?? [])].toSorted((a, b) => a - b)
  const wanted = [...members.servers.keys()].map(Number).toSorted((a, b) => a - b)
  return found.join() === wanted.join()
    ? []
    : [`it starts with ${found.join()}, not with ${wanted.join()}`]
}

const version = 0x100000005n
const start = [1, 2, 3].map((id) => `server.${id}=host${id}:2888:3888:participant;2181`).join('\n')
const parsed = parseMembership(start)
const current = 'value' in parsed ? parsed.value : undefined

const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd })
const host = often(
  fc.constantFrom('host1', 'host4', '10.0.0.4', '[::1]', '[2001:db8::4]'),
  fc.constantFrom('', 'a b', '0.0.0.0', '[::', 'h\\', '[1:2]', '#', 'ho:st'),
)
const port = often(
  fc.integer({ min: 1, max: 65_535 }).map(String),
  fc.constantFrom('0', '-1', '65536', 'x', '', '99999999999', '+5', ' 7'),
)
const address = fc.tuple(host, port, port).map((parts) => parts.join(':'))
const addresses = often(
  address,
  fc.tuple(address, address).map((both) => both.join('|')),
)
const role = often(fc.constantFrom(':participant', ':observer', ''), fc.constantFrom(':chief', ':'))
const client = fc.oneof(
  { weight: 5, arbitrary: port.map((text) => `;${text}`) },
  { weight: 2, arbitrary: fc.tuple(host, port).map(([at, text]) => `;${at}:${text}`) },
  { weight: 1, arbitrary: fc.tuple(port, port).map(([one, other]) => `;${one};${other}`) },
  { weight: 1, arbitrary: fc.constant('') },
)
const id = often(
  fc.integer({ min: 1, max: 5 }).map(String),
  fc.constantFrom('-1', '0', '255', '300', '999999999999999', '9999999999999999', 'x', '007'),
)
const line = fc
  .tuple(id, addresses, role, client)
  .map(([number, at, as, clients]) => `server.${number}=${at}${as}${clients}`)
const group = fc.oneof(
  fc.constantFrom('group.1=1:2:3', 'group.1=1:2', 'group.2=3', 'group.2=4:5', 'group.x=1'),
  fc.constantFrom('weight.1=0', 'weight.2=5', 'weight.3=9999999999999999', 'weight.9=1'),
)
const none = { joiningServers: null, leavingServers: null, newMembers: null, curConfigId: -1n }
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({
    ...Object.fromEntries(Object.entries(none).map(([key, value]) => [key, fc.constant(value)])),
    joiningServers: fc.array(line, { minLength: 1, maxLength: 3 }).map((all) => all.join()),
    leavingServers: fc.option(fc.constantFrom('1', '2,3', '9')),
  }) as fc.Arbitrary<Request>,
  fc
    .tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.array(group, { maxLength: 3 }))
    .map(([lines, groups]) => ({
      ...none,
      newMembers: [...start.split('\n'), ...lines, ...groups].join(),
    })),
)

test('whatever reconfig accepts, every member starts with', async () => {
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(request, fc.boolean(), fc.boolean(), async (asked, multi, standalone) => {
      const settings = { multiAddressEnabled: multi, standaloneEnabled: standalone }
      const members = membersAfter(current!, asked, settings, version)
      if (typeof members === 'number') return
      accepted++
      for (const member of members.servers.keys()) {
        expect(await restart(Number(member), members, settings)).toEqual([])
      }
    }),
    { numRuns: 500 },
  )
  expect(accepted).toBeGreaterThan(30)
})

const { badArguments, marshallingError } = errorCodes
const usual: Settings = { multiAddressEnabled: false, standaloneEnabled: true }

test.each([
  ['server.9=h:2:3|g:2:3;4', badArguments],
  ['server.9=h:70000:3;4', marshallingError],
  ['server.9=h:2:70000;4', marshallingError],
  ['server.9=h:2:3;70000', marshallingError],
  ['server.9=h:2:3;h:70000', marshallingError],
  ['server.9=h:-1:3;4', marshallingError],
  ['server.9=h:2:3;-1', marshallingError],
  ['server.9=h:x:3;4', badArguments],
  ['server.9=h:2:3;x', badArguments],
  ['server.9=h:99999999999:3;4', badArguments],
  ['server.9=h:2:2;4', badArguments],
  ['server.9=h:2:3', badArguments],
  ['server.9=h:2:3;4;5', badArguments],
  ['server.9=h:2:3:chief;4', badArguments],
])('%s is refused as Apache ZooKeeper 3.9 refuses it', (joiningServers, err) => {
  expect(membersAfter(current!, { ...none, joiningServers }, usual, version)).toBe(err)
  const newMembers = `${start.replaceAll('\n', ',')},${joiningServers}`
  // Only a joining member must say where its clients connect.
  if (joiningServers !== 'server.9=h:2:3') {
    expect(membersAfter(current!, { ...none, newMembers }, usual, version)).toBe(err)
  }
})

test.each(['-1', '9999999999999999'])('server.%s, which could not start, is refused', (number) => {
  const joiningServers = `server.${number}=h:2:3:observer;4`
  expect(membersAfter(current!, { ...none, joiningServers }, usual, version)).toBe(badArguments)
})
