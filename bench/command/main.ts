// Measures the time until a zabra command prints its first output, next to bare Node, Apache's
// zkCli.sh and etcdctl: `npm run bench:command -- --rounds 20`. The programs take turns, so that they
// all meet the same load.
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { connect } from '@zabra/client'
import { findApache } from '../../interop/src/apache.ts'
import { zabraCommand } from '../../interop/src/commands.ts'
import { ManagedServer } from '../../interop/src/servers.ts'
import { startEtcd, type Etcd } from './etcd.ts'
import { textTable } from '../../interop/src/text-table.ts'

interface Contestant {
  readonly name: string
  readonly command: readonly string[]
  /** The output to wait for: zkCli.sh prints a greeting before it does anything. */
  readonly wanted: string
}

interface Times {
  readonly firstMs: number[]
  readonly endMs: number[]
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } })
const rounds = Number(values.rounds)
const zabra = join(fileURLToPath(new URL('../..', import.meta.url)), 'bin', 'zabra')
const server = new ManagedServer(zabraCommand())
await server.start()
const etcd = await startEtcd()
try {
  const servers = `${server.host}:${server.port}`
  await using client = await connect(servers)
  await client.create('/config', 'found it')
  const at = ['--servers', servers]
  const contestants: Contestant[] = [
    {
      name: 'node, bare',
      command: ['node', '-e', "process.stdout.write('found it')"],
      wanted: 'found it',
    },
    { name: 'zabra version', command: [zabra, 'version'], wanted: 'zabra' },
    { name: 'zabra get', command: [zabra, 'get', '/config', ...at], wanted: 'found it' },
    {
      name: 'zabra get --json',
      command: [zabra, 'get', '/config', '--json', ...at],
      wanted: 'found it',
    },
    {
      name: 'zabra shell get',
      command: [zabra, 'shell', '-server', servers, 'get', '/config'],
      wanted: 'found it',
    },
    ...(await zkCli(servers)),
    ...etcdctl(etcd),
  ]
  const times = new Map<Contestant, Times>(
    contestants.map((one) => [one, { firstMs: [], endMs: [] }]),
  )
  for (let round = -1; round < rounds; round++) {
    for (const [contestant, { firstMs, endMs }] of times) {
      const { first, end } = await measured(contestant)
      // The first round only fills caches.
      if (round < 0) continue
      firstMs.push(first)
      endMs.push(end)
    }
  }
  const bare = median(times.get(contestants[0]!)!.firstMs)
  const rows = [...times].map(([{ name }, { firstMs, endMs }]) => [
    name,
    median(firstMs).toFixed(0),
    signed(median(firstMs) - bare),
    (median(firstMs) / bare).toFixed(2),
    median(endMs).toFixed(0),
  ])
  console.log(textTable([['', 'first output ms', 'over node', 'ratio', 'ended ms'], ...rows]))
} finally {
  etcd?.stop()
  await server.dispose()
}

async function zkCli(servers: string): Promise<Contestant[]> {
  const apache = await findApache('3.9')
  if (!apache.ok) {
    console.log(`zkCli.sh: NOT RUN: ${apache.reason}`)
    return []
  }
  const jars = apache.classPath.split(delimiter).filter((jar) => !jar.includes('jline'))
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=off'
  const main = 'org.apache.zookeeper.ZooKeeperMain'
  const command = [
    'java',
    quiet,
    '-cp',
    jars.join(delimiter),
    main,
    '-server',
    servers,
    'get',
    '/config',
  ]
  return [{ name: `zkCli.sh get (${apache.version})`, command, wanted: 'found it' }]
}

function etcdctl(running: Etcd | undefined): Contestant[] {
  if (running === undefined) {
    console.log('etcdctl: NOT RUN: there is no etcd')
    return []
  }
  const command = [...running.command, 'get', '/config', '--print-value-only']
  return [{ name: `etcdctl get (${running.version})`, command, wanted: 'found it' }]
}

function measured({ name, command, wanted }: Contestant): Promise<{ first: number; end: number }> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    let first: number | undefined
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes(wanted)) first ??= performance.now() - started
    })
    child.on('error', reject)
    child.on('close', () => {
      if (first === undefined) reject(new Error(`${name} did not print '${wanted}': ${said}`))
      else resolve({ first, end: performance.now() - started })
    })
  })
}

function signed(ms: number): string {
  return `${ms < 0 ? '' : '+'}${ms.toFixed(0)}`
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!
}
