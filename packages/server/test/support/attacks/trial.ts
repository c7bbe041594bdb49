/** Runs one attack against a server process, next to a well-behaved client. */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { limitNames, type LimitName } from '@zabra/core'
import { freePorts } from '../free-ports.ts'
import { ServerProcess } from '../server-process.ts'
import type { Attack } from './attacks.ts'
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
  const [adminPort = 0] = await freePorts(1)
  const admin = `admin.enableServer=true\nadmin.serverPort=${adminPort}`
  const cfg = `tickTime=2000\n${admin}\n${attack.cfg ?? ''}`
  const server = await ServerProcess.start(dir, cfg)
  try {
    const { scale, quietMs, msMax } = options
    await attack.prepare?.(server.port, scale)
    const citizen = await Citizen.arrive(server.port)
    await delay(quietMs / 2)
    citizen.look()
    await delay(quietMs)
    const quiet = citizen.look()
    const { rss: rssBefore } = await server.memory()
    const linesBefore = lineCount(server)
    let rssMax = rssBefore
    const sampler = setInterval(() => (rssMax = Math.max(rssMax, rssOf(server.pid))), sampleMs)
    const started = performance.now()
    const problems = await attackFrom(attack.name, server.port, scale, msMax)
    const tookMs = performance.now() - started
    clearInterval(sampler)
    const during = citizen.look()
    const limits = await limitsOf(adminPort)
    await citizen.retire()
    problems.push(...citizen.problems)
    for (const name of attack.limits ?? []) {
      if ((limits.get(name) ?? 0) === 0) problems.push(`the limit ${name} was not reached`)
    }
    const lines = lineCount(server) - linesBefore
    const { code } = await server.stop()
    if (code !== 0) problems.push(`the server ended with ${code}: ${server.output.slice(-2000)}`)
    return { quiet, during, tookMs, rssBefore, rssMax, limits, lines, problems }
  } finally {
    await server.kill()
  }
}

/**
 * Runs in another process, so that the work of the attacker does not delay the well-behaved client.
 */
async function attackFrom(
  name: string,
  port: number,
  scale: number,
  msMax: number,
): Promise<string[]> {
  const child = fork(script, [name, String(port), String(scale)], {
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
  const response = await fetch(`http://127.0.0.1:${adminPort}/commands/monitor`)
  const values = (await response.json()) as Record<string, number>
  const reached = limitNames.map((name) => [name, values[`limit_reached_${name}`] ?? 0] as const)
  return new Map(reached.filter(([, count]) => count > 0))
}

const lineCount = ({ output }: ServerProcess): number => output.split('\n').length - 1
