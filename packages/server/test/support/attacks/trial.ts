/** Runs one attack against a server process, next to a well-behaved client. */
import { fork } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { limitNames, type LimitName } from '@zabra/core'
import { freePorts } from '../free-ports.ts'
import { ServerProcess } from '../server-process.ts'
import type { Attack, Target } from './attack.ts'
import { Citizen, type Sight } from './citizen.ts'

export interface TrialResult {
  readonly quiet: Sight
  readonly during: Sight
  readonly tookMs: number
  /** The server's memory in bytes, before and at the maximum. */
  readonly rssBefore: number
  readonly rssMax: number
  readonly limits: ReadonlyMap<LimitName, number>
  /** The number of lines that the server logged. */
  readonly lines: number
  readonly problems: readonly string[]
}

const script = join(dirname(fileURLToPath(import.meta.url)), 'attack-process.ts')
const sampleMs = 50

export async function tryAttack(
  dir: string,
  attack: Attack,
  options: { readonly scale: number; readonly quietMs: number; readonly msMax: number },
): Promise<TrialResult> {
  const cfg = typeof attack.cfg === 'function' ? attack.cfg(dir) : (attack.cfg ?? '')
  const start = attack.isOnEnsemble === true ? startEnsemble : startAlone
  const victims = await start(dir, `tickTime=2000\n${cfg}`)
  try {
    const { server, target } = victims
    const { scale, quietMs, msMax } = options
    await attack.prepare?.(target, scale)
    const citizen = await Citizen.arrive(server.port)
    await delay(quietMs / 2)
    citizen.look()
    await delay(quietMs)
    const quiet = citizen.look()
    const { rss: rssBefore } = await server.memory()
    const linesBefore = lineCount(server)
    const epochsBefore = await victims.epochs()
    let rssMax = rssBefore
    const sampler = setInterval(() => (rssMax = Math.max(rssMax, rssOf(server.pid))), sampleMs)
    const started = performance.now()
    const problems = await attackFrom(attack.name, target, scale, msMax)
    const tookMs = performance.now() - started
    clearInterval(sampler)
    const during = citizen.look()
    const limits = await limitsOf(target.adminPort)
    await citizen.retire()
    problems.push(...citizen.problems)
    for (const name of attack.limits ?? []) {
      if ((limits.get(name) ?? 0) === 0) problems.push(`the limit ${name} was not reached`)
    }
    const epochs = await victims.epochs()
    if (epochs !== epochsBefore) problems.push(`epochs went from ${epochsBefore} to ${epochs}`)
    const lines = lineCount(server) - linesBefore
    const { code } = await server.stop()
    if (code !== 0) problems.push(`the server ended with ${code}: ${server.output.slice(-2000)}`)
    return { quiet, during, tookMs, rssBefore, rssMax, limits, lines, problems }
  } finally {
    await Promise.all(victims.servers.map((server) => server.kill()))
  }
}

interface Victims {
  readonly servers: readonly ServerProcess[]
  /** The one that is attacked. */
  readonly server: ServerProcess
  readonly target: Target
  /** The promised epochs of all servers; nothing if there is only one. */
  epochs(): Promise<string>
}

const adminCfg = (port: number): string => `admin.enableServer=true\nadmin.serverPort=${port}`

async function startAlone(dir: string, cfg: string): Promise<Victims> {
  const [adminPort = 0] = await freePorts(1)
  const server = await ServerProcess.start(dir, `${cfg}\n${adminCfg(adminPort)}`)
  const target = { port: server.port, adminPort }
  return { servers: [server], server, target, epochs: () => Promise.resolve('') }
}

const ids = [1, 2, 3] as const

/** Three servers; the one that leads is attacked. */
async function startEnsemble(dir: string, cfg: string): Promise<Victims> {
  const ports = await freePorts(3 * ids.length)
  const portsOf = (id: number): readonly number[] => ports.slice(3 * id - 3, 3 * id)
  const members = ids.map((id) => {
    const [quorum, election] = portsOf(id)
    return `server.${id}=127.0.0.1:${quorum}:${election}`
  })
  const common = `${cfg}\n${members.join('\n')}\ninitLimit=10\nsyncLimit=5`
  const servers = ids.map((id) => {
    const folder = join(dir, `${id}`)
    mkdirSync(join(folder, 'data'), { recursive: true })
    writeFileSync(join(folder, 'data', 'myid'), `${id}\n`)
    return ServerProcess.launch(folder, `${common}\n${adminCfg(portsOf(id)[2]!)}`)
  })
  try {
    await Promise.all(servers.map((server) => server.untilServing()))
    const adminPorts = ids.map((id) => portsOf(id)[2]!)
    while (!(await Promise.all(adminPorts.map(isReady))).every(Boolean)) await delay(100)
    const states = await Promise.all(adminPorts.map(stateOf))
    const leads = states.indexOf('leader')
    const [quorumPort = 0, electionPort = 0, adminPort = 0] = portsOf(ids[leads]!)
    const server = servers[leads]!
    const target = { port: server.port, adminPort, quorumPort, electionPort }
    const epochOf = (id: number): Promise<string> =>
      readFile(join(dir, `${id}`, 'data', 'version-2', 'acceptedEpoch'), 'utf8')
    const epochs = async (): Promise<string> => (await Promise.all(ids.map(epochOf))).join(' ')
    return { servers, server, target, epochs }
  } catch (error) {
    await Promise.all(servers.map((server) => server.kill()))
    throw error
  }
}

/**
 * Runs in another process, so that the work of the attacker does not delay the well-behaved client.
 */
async function attackFrom(
  name: string,
  target: Target,
  scale: number,
  msMax: number,
): Promise<string[]> {
  const child = fork(script, [name, JSON.stringify(target), String(scale)], {
    execArgv: ['--conditions=@zabra/source', '--import', 'tsx'],
    cwd: dirname(script),
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), msMax)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  clearTimeout(timer)
  if (code === 0) return []
  return [code === null ? `the attack did not end in ${msMax} ms` : `the attack ended with ${code}`]
}

function rssOf(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return Number(line?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

async function limitsOf(adminPort: number): Promise<Map<LimitName, number>> {
  const values = await monitorOf(adminPort)
  const reached = limitNames.map(
    (name) => [name, Number(values[`limit_reached_${name}`] ?? 0)] as const,
  )
  return new Map(reached.filter(([, count]) => count > 0))
}

/** Whether the server serves clients. */
async function isReady(adminPort: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined)
  return response?.ok === true
}

async function stateOf(adminPort: number): Promise<string> {
  return String((await monitorOf(adminPort))['server_state'])
}

/** Asks until there is an answer: an attack may just have used up the connections of the port. */
async function monitorOf(adminPort: number): Promise<Record<string, unknown>> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await fetch(`http://127.0.0.1:${adminPort}/commands/monitor`)
      return (await response.json()) as Record<string, unknown>
    } catch (error) {
      if (tries === 50) throw error
      await delay(100)
    }
  }
}

const lineCount = ({ output }: ServerProcess): number => output.split('\n').length - 1
