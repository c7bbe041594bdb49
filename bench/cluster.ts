import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Ensemble, type EnsembleServer } from '../interop/src/ensemble.ts'
import { Authority } from '../packages/server/test/support/certificates.ts'
import { usageOf, withDescendants } from './proc.ts'
import type { ServerKind } from './server-kinds.ts'
import { probe } from './zkload.ts'

const stopTimeoutMs = 30_000
const lastWordsMax = 5

const commonConfig = [
  'tickTime=2000',
  'initLimit=10',
  'syncLimit=5',
  'maxClientCnxns=0',
  '4lw.commands.whitelist=*',
]

export interface Startup {
  /** The time from the start of the first process until every server has answered a request. */
  readonly servedMs: number
  readonly cpuMs: number
}

/** A server or an ensemble to measure. */
export class Cluster {
  readonly kind: ServerKind
  readonly dir: string
  readonly isSecure: boolean
  private readonly ensemble: Ensemble

  private constructor(kind: ServerKind, dir: string, isSecure: boolean, ensemble: Ensemble) {
    this.kind = kind
    this.dir = dir
    this.isSecure = isSecure
    this.ensemble = ensemble
  }

  /** Prepares an empty folder; starts nothing. */
  static async create(
    kind: ServerKind,
    dir: string,
    size: number,
    { config, tls }: { readonly config: readonly string[]; readonly tls: boolean },
  ): Promise<Cluster> {
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { recursive: true })
    if (tls) new Authority('Bench CA', dir).issueFile('server')
    const ensemble = await Ensemble.open(
      Array.from({ length: size }, () => kind.command),
      {
        cfg: [...commonConfig, ...config, ...kind.config].join('\n'),
        cfgOf: ({ ports }) => (tls ? secureLines(dir, ports.spare).join('\n') : ''),
        dir,
        stopTimeoutMs,
      },
    )
    return new Cluster(kind, dir, tls, ensemble)
  }

  get servers(): readonly EnsembleServer[] {
    return this.ensemble.servers
  }

  /** The addresses for clients. */
  get hosts(): string {
    if (!this.isSecure) return this.ensemble.connectString
    return this.servers.map(({ host, ports }) => `${host}:${ports.spare}`).join(',')
  }

  /** The arguments with which zkload reaches the servers. */
  get loadArgs(): readonly string[] {
    return ['--hosts', this.hosts, ...(this.isSecure ? ['--tls'] : [])]
  }

  /** All processes of all servers, including children. */
  get pids(): readonly number[] {
    const roots = this.servers.map(({ pid }) => pid).filter((pid) => pid !== undefined)
    return withDescendants(roots)
  }

  async start(limitS = 180): Promise<Startup> {
    const startedAtMs = Date.now()
    const giveUp = new AbortController()
    const served = await Promise.all(
      this.servers.map(async (server) => {
        await server.launch()
        void server.ended().then(() => giveUp.abort())
        return probe(hostOf(server), limitS, giveUp.signal)
      }),
    )
    const servedMs = Math.max(...served) - startedAtMs
    if (!Number.isFinite(servedMs)) {
      throw new Error(`${this.kind.label} did not start: ${this.lastWords()}`)
    }
    return { servedMs, cpuMs: usageOf(this.pids).cpuS * 1000 }
  }

  /** Fails at once if a server has died: a run against it would only wait. */
  assertUp(): void {
    if (this.ensemble.running.length < this.servers.length)
      throw new Error(`${this.kind.label} has died: ${this.lastWords()}`)
  }

  /** The end of the servers' logs, which are deleted with their folders. */
  private lastWords(): string {
    const lines = this.servers.flatMap(({ log }) => log.split('\n').filter(saysSomething))
    return lines.slice(-lastWordsMax).join(' / ') || 'it logged nothing'
  }

  /** Asks the servers to stop, and kills those that do not stop in time. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    return this.ensemble.stop(signal)
  }

  async leader(): Promise<EnsembleServer | undefined> {
    return this.ensemble.withMode(this.servers.length === 1 ? 'standalone' : 'leader')
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

export function hostOf({ host, port }: EnsembleServer): string {
  return `${host}:${port}`
}

/** Whether a line is a message, not a line of a stack trace. */
function saysSomething(line: string): boolean {
  return line.trim() !== '' && !/^\s+(at |\.\.\.)/.test(line)
}

/** The settings of a TLS port for both servers; only Apache uses the factory. */
function secureLines(dir: string, port: number): string[] {
  return [
    `secureClientPort=${port}`,
    'secureClientPortAddress=127.0.0.1',
    'serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
    `ssl.keyStore.location=${join(dir, 'server.pem')}`,
    `ssl.trustStore.location=${join(dir, 'ca.pem')}`,
    'ssl.clientAuth=none',
  ]
}
