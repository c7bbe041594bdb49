import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { usageOf, withDescendants } from './proc.ts'
import type { ServerKind } from './server-kinds.ts'
import { probe } from './zkload.ts'
import { Authority } from '../packages/server/test/support/certificates.ts'
import { freePorts } from '../packages/server/test/support/free-ports.ts'

const stopLimitMs = 30_000
const lastWordsMax = 5

export interface ClusterNode {
  readonly id: number
  readonly dir: string
  readonly configFile: string
  readonly clientPort: number
  /** Undefined: clients connect without TLS. */
  readonly securePort: number | undefined
  readonly quorumPort: number
  readonly electionPort: number
  process?: ChildProcess
}

export interface Startup {
  /** From the start of the first process until every server has answered a request. */
  readonly servedMs: number
  readonly cpuMs: number
}

/** One server or an ensemble on loopback, started and stopped as an operator would. */
export class Cluster {
  readonly kind: ServerKind
  readonly dir: string
  readonly nodes: readonly ClusterNode[]

  private constructor(kind: ServerKind, dir: string, nodes: readonly ClusterNode[]) {
    this.kind = kind
    this.dir = dir
    this.nodes = nodes
  }

  /** Writes configuration and empty data directories; starts nothing. */
  static async create(
    kind: ServerKind,
    dir: string,
    size: number,
    { config, tls }: { readonly config: readonly string[]; readonly tls: boolean },
  ): Promise<Cluster> {
    const nodes: ClusterNode[] = []
    for (let id = 1; id <= size; id++) {
      const [clientPort = 0, quorumPort = 0, electionPort = 0, securePort = 0] = await freePorts(4)
      nodes.push({
        id,
        dir: join(dir, String(id)),
        configFile: join(dir, String(id), 'zoo.cfg'),
        clientPort,
        quorumPort,
        electionPort,
        securePort: tls ? securePort : undefined,
      })
    }
    rmSync(dir, { recursive: true, force: true })
    for (const node of nodes) writeConfig(node, nodes, config)
    if (tls) writeCertificates(dir)
    return new Cluster(kind, dir, nodes)
  }

  /** Where clients connect. */
  get hosts(): string {
    return this.nodes.map((node) => `127.0.0.1:${node.securePort ?? node.clientPort}`).join(',')
  }

  /** How zkload reaches the servers. */
  get loadArgs(): readonly string[] {
    const isSecure = this.nodes.some(({ securePort }) => securePort !== undefined)
    return ['--hosts', this.hosts, ...(isSecure ? ['--tls'] : [])]
  }

  /** All processes of all servers, children included. */
  get pids(): readonly number[] {
    const roots = this.nodes.map((node) => node.process?.pid).filter((pid) => pid !== undefined)
    return withDescendants(roots)
  }

  async start(limitS = 180): Promise<Startup> {
    const startedAtMs = Date.now()
    const giveUp = new AbortController()
    for (const node of this.nodes) this.spawnNode(node).once('exit', () => giveUp.abort())
    const served = await Promise.all(
      this.nodes.map((node) => probe(hostOf(node), limitS, giveUp.signal)),
    )
    const servedMs = Math.max(...served) - startedAtMs
    if (!Number.isFinite(servedMs)) {
      throw new Error(`${this.kind.label} did not start: ${this.lastWords()}`)
    }
    return { servedMs, cpuMs: usageOf(this.pids).cpuS * 1000 }
  }

  /** A run against a server that has died would only wait for it, so it fails at once. */
  assertUp(): void {
    const isDown = this.nodes.some((node) => node.process === undefined)
    if (isDown) throw new Error(`${this.kind.label} has died: ${this.lastWords()}`)
  }

  /** The end of what the servers logged: their folders are removed with them. */
  private lastWords(): string {
    const lines = this.nodes.flatMap((node) => readLines(join(node.dir, 'log')))
    return lines.slice(-lastWordsMax).join(' / ') || 'it logged nothing'
  }

  spawnNode(node: ClusterNode): ChildProcess {
    const [command, ...args] = this.kind.command(node.configFile)
    const log = openSync(join(node.dir, 'log'), 'a')
    // A group of its own, so that a launcher's children can be killed with it.
    const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true })
    closeSync(log)
    node.process = child
    running.add(child)
    child.once('error', (error) => console.error(`${this.kind.label}: ${error.message}`))
    child.once('exit', () => {
      running.delete(child)
      if (node.process === child) delete node.process
    })
    return child
  }

  /** Asks the servers to end, and kills what has not ended in time. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await Promise.all(this.nodes.map((node) => stopProcess(node.process, signal)))
  }

  async leader(): Promise<ClusterNode | undefined> {
    for (const node of this.nodes) {
      if (node.process === undefined) continue
      if (/Mode: (leader|standalone)/.test(await askStatus(node.clientPort))) return node
    }
    return undefined
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

export function hostOf(node: ClusterNode): string {
  return `127.0.0.1:${node.clientPort}`
}

/** Kills a process and all of its group, and waits until it is gone. */
export async function stopProcess(
  child: ChildProcess | undefined,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  if (signal === 'SIGKILL') killGroup(child)
  else child.kill(signal)
  const patience = setTimeout(() => killGroup(child), stopLimitMs)
  await exited
  clearTimeout(patience)
}

/** Whatever way this process ends, its servers end with it. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) killGroup(child)
})

/** Lines that say something; those of a stack do not. */
function readLines(file: string): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line.trim() !== '' && !/^\s+(at |\.\.\.)/.test(line))
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // it has ended meanwhile
  }
}

function writeConfig(
  node: ClusterNode,
  nodes: readonly ClusterNode[],
  configLines: readonly string[],
): void {
  const dataDir = join(node.dir, 'data')
  mkdirSync(dataDir, { recursive: true })
  const lines = [
    'tickTime=2000',
    'initLimit=10',
    'syncLimit=5',
    `dataDir=${dataDir}`,
    `clientPort=${node.clientPort}`,
    'clientPortAddress=127.0.0.1',
    'maxClientCnxns=0',
    'admin.enableServer=false',
    '4lw.commands.whitelist=*',
    ...configLines,
    ...secureLines(node),
  ]
  if (nodes.length > 1) {
    for (const { id, quorumPort, electionPort } of nodes) {
      lines.push(`server.${id}=127.0.0.1:${quorumPort}:${electionPort}`)
    }
    writeFileSync(join(dataDir, 'myid'), `${node.id}\n`)
  }
  writeFileSync(node.configFile, lines.map((line) => `${line}\n`).join(''))
}

/** What both servers need for a port with TLS; only Apache cares for the factory. */
function secureLines({ dir, securePort }: ClusterNode): string[] {
  if (securePort === undefined) return []
  return [
    `secureClientPort=${securePort}`,
    'secureClientPortAddress=127.0.0.1',
    'serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
    `ssl.keyStore.location=${join(dir, '..', 'server.pem')}`,
    `ssl.trustStore.location=${join(dir, '..', 'ca.pem')}`,
    'ssl.clientAuth=none',
  ]
}

function writeCertificates(dir: string): void {
  new Authority('Bench CA', dir).issueFile('server')
}

function askStatus(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('srvr'))
    socket.setTimeout(2000, () => socket.destroy())
    socket.on('data', (chunk) => {
      text += chunk.toString()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(text))
  })
}
