import { decodeText, encodeText } from '@zabra/protocol'
import { beforeEach, expect, test } from 'vitest'
import { parseMembership, type Membership } from '../membership/membership.ts'
import { ConfigFiles } from './config-files.ts'
import { MemoryDisk } from './disk/memory-disk.ts'

let disk: MemoryDisk
let files: ConfigFiles

const written = `# our ensemble
tickTime=2000
clientPort=2181
server.1=a:1:2
server.2=b:1:2
server.3 = c:1:2 ; \\
  2183
initLimit=5
peerType=participant
`

beforeEach(async () => {
  disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory('/etc')
  await put('/etc/zoo.cfg', written)
  files = new ConfigFiles(disk, '/etc/zoo.cfg', 2n)
})

async function put(path: string, text: string): Promise<void> {
  const file = await disk.create(path)
  await file.write(encodeText(text), 0)
  await file.sync()
  await file.close()
  await disk.syncDirectory('/etc')
}

async function get(name: string): Promise<string> {
  const file = await disk.openRead(`/etc/${name}`)
  const bytes = new Uint8Array(file.bytes)
  return decodeText(bytes, 0, await file.read(0, bytes))
}

async function names(): Promise<string[]> {
  return (await disk.list('/etc')).map(({ name }) => name).toSorted()
}

function config(text: string): Membership {
  const parsed = parseMembership(text)
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const two = 'server.10=x:1:2:participant;0.0.0.0:2190\nserver.2=b:1:2:participant'

test('members that are committed have a file of their own, named by their version', async () => {
  await files.saveCommitted(config(`${two}\nversion=1000000ab`))
  disk.crash()
  expect(await get('zoo.cfg.dynamic.1000000ab')).toBe(two)
  expect(await get('zoo.cfg')).toBe(
    '# our ensemble\ntickTime=2000\nclientPort=2181\ninitLimit=5\n' +
      'dynamicConfigFile=/etc/zoo.cfg.dynamic.1000000ab\n',
  )
  expect(await get('zoo.cfg.bak')).toBe(written)
})

test('the next ones take their place, and the first file stays as it was', async () => {
  await files.saveCommitted(config(`${two}\nversion=1`))
  await files.saveCommitted(config('server.2=b:1:2:observer\nversion=20'))
  expect(await get('zoo.cfg')).toMatch(
    /initLimit=5\ndynamicConfigFile=\/etc\/zoo.cfg.dynamic.20\n$/,
  )
  expect(await get('zoo.cfg')).not.toContain('dynamic.1\n')
  expect(await get('zoo.cfg.bak')).toBe(written)
})

test('a client port among the members is no longer in the file', async () => {
  await files.saveCommitted(config('server.2=b:1:2;2199\nversion=1'))
  expect(await get('zoo.cfg')).not.toContain('clientPort')
})

test('a configuration without this server is not written', async () => {
  await files.saveCommitted(config('server.1=a:1:2\nversion=1'))
  expect(await names()).toEqual(['zoo.cfg'])
})

test('members that are only proposed are kept with their version until they are not', async () => {
  await files.saveSeen(config(`${two}\nversion=7`))
  disk.crash()
  expect(await get('zoo.cfg.dynamic.next')).toBe(`${two}\nversion=7`)
  await files.saveSeen(undefined)
  await files.saveSeen(undefined)
  disk.crash()
  expect(await names()).toEqual(['zoo.cfg'])
})

test('wherever a crash comes, the file names members that are there', async () => {
  for (let calls = 0; calls < 20; calls++) {
    await put('/etc/zoo.cfg', written)
    let left = calls
    disk.fault = () => (left-- > 0 ? undefined : 'EIO')
    await files.saveCommitted(config(`${two}\nversion=1`)).catch(() => {})
    disk.fault = undefined
    disk.crash()
    const [, dynamic] = /dynamicConfigFile=\/etc\/(.*)/.exec(await get('zoo.cfg')) ?? []
    if (dynamic === undefined) expect(await get('zoo.cfg')).toBe(written)
    else expect(await get(dynamic)).toBe(two)
  }
})
