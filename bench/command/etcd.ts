import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cacheDir } from '../../interop/src/apache.ts'
import { ensureTool, runTool, say } from '../../interop/src/tools.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'

/** A running etcd in which `/config` is `found it`. */
export interface Etcd {
  readonly version: string
  /** Begins a command line of its client. */
  readonly command: readonly string[]
  stop(): void
}

const attemptsMax = 100

/** Of the programs that are built; Debian's packages are years older. */
const release = 'v3.6.16'
const buildMsMax = 900_000

interface Programs {
  readonly server: string
  readonly client: string
}

/** Undefined where etcd cannot be had. */
export async function startEtcd(): Promise<Etcd | undefined> {
  const programs = (await built()) ?? (await installed())
  if (programs === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'zabra-bench-etcd-'))
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`)
  const options = {
    'data-dir': folder,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value!])
  const server = spawn(programs.server, words, { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('close', resolve))
  void ended.then(() => rmSync(folder, { recursive: true, force: true }))
  const command = [programs.client, '--endpoints', client!]
  const [program = '', ...args] = command
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { ok } = await runTool(program, [...args, 'put', '/config', 'found it'])
    if (ok) {
      const { output } = await runTool(program, ['version'])
      const version = /version: (\S+)/.exec(output)?.[1] ?? '?'
      return { version, command, stop: () => server.kill() }
    }
    await delay(100)
  }
  server.kill()
  return undefined
}

/** Builds etcd and etcdctl from the Go proxy; undefined where that fails. */
async function built(): Promise<Programs | undefined> {
  const folder = join(cacheDir, 'etcd', release)
  const programs = { server: join(folder, 'etcd'), client: join(folder, 'etcdctl') }
  if (existsSync(programs.client)) return programs
  mkdirSync(folder, { recursive: true })
  say(`building etcd ${release}`)
  const modules = 'go.etcd.io/etcd'
  // Their modules replace each other by folders, which `go install` refuses.
  const steps: readonly (readonly string[])[] = [
    ['mod', 'init', 'programs'],
    ['get', `${modules}/server/v3@${release}`, `${modules}/etcdctl/v3@${release}`],
    ['build', '-o', programs.server, `${modules}/server/v3`],
    ['build', '-o', programs.client, `${modules}/etcdctl/v3`],
  ]
  const source = mkdtempSync(join(tmpdir(), 'zabra-bench-etcd-source-'))
  try {
    for (const args of steps) {
      const { ok, output } = await runTool('go', args, { cwd: source, timeoutMs: buildMsMax })
      if (ok) continue
      say(`etcd cannot be built: ${output}`)
      return undefined
    }
    return programs
  } finally {
    rmSync(source, { recursive: true })
  }
}

/** Those of Debian. */
async function installed(): Promise<Programs | undefined> {
  const isThere =
    (await ensureTool('etcd', ['etcd-server'])) && (await ensureTool('etcdctl', ['etcd-client']))
  return isThere ? { server: 'etcd', client: 'etcdctl' } : undefined
}
