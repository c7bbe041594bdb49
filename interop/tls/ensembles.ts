import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { Apache } from '../src/apache.ts'
import {
  apacheCommand,
  askFourLetters,
  loopback,
  ManagedServer,
  zabraCommand,
  type ServerCommand,
} from '../src/servers.ts'
import { storePassword, type Pki } from './pki.ts'

const patienceMs = 40_000

/** The protection of connections between servers. */
export interface Security {
  readonly name: string
  readonly cfg: string
}

/** Lines of zoo.cfg for TLS between servers; what they dial with is said apart. */
export function quorumTls(pki: Pki, form: 'pem' | 'p12' | 'jks' = 'pem'): string {
  const password = form === 'pem' ? '' : storePassword
  return `
ssl.quorum.keyStore.location=${pki.path(`server.${form}`)}
ssl.quorum.keyStore.password=${password}
ssl.quorum.trustStore.location=${pki.path(`ca.${form}`)}
ssl.quorum.trustStore.password=${password}
ssl.quorum.enabledProtocols=TLSv1.2,TLSv1.3
`
}

const saslCfg = `
quorum.auth.enableSasl=true
quorum.auth.learnerRequireSasl=true
quorum.auth.serverRequireSasl=true
`

const securities = (pki: Pki): readonly Security[] => [
  { name: 'TLS', cfg: `sslQuorum=true\n${quorumTls(pki)}` },
  { name: 'SASL', cfg: saslCfg },
  { name: 'TLS and SASL', cfg: `sslQuorum=true\n${quorumTls(pki, 'p12')}${saslCfg}` },
]

export interface Outcome {
  readonly where: string
  readonly problems: string[]
}

/** Servers of an ensemble: the number of the last one is the largest, so that it leads at first. */
export class SecureEnsemble {
  readonly servers: readonly ManagedServer[]
  private readonly members: string

  static async open(
    commands: readonly ServerCommand[],
    pki: Pki,
    cfg: string,
    observer?: number,
  ): Promise<SecureEnsemble> {
    const ports = await freePorts(2 * commands.length)
    return new SecureEnsemble(commands, pki, ports, cfg, observer)
  }

  private constructor(
    commands: readonly ServerCommand[],
    pki: Pki,
    ports: readonly number[],
    cfg: string,
    observer: number | undefined,
  ) {
    this.members = commands
      .map((_, i) => {
        const role = i + 1 === observer ? 'observer' : 'participant'
        return `server.${i + 1}=${loopback}:${ports[2 * i]}:${ports[2 * i + 1]}:${role}`
      })
      .join('\n')
    const properties = [`java.security.auth.login.config=${pki.path('server.jaas')}`]
    this.servers = commands.map(
      (command, i) => new ManagedServer(command, { cfg: this.cfgOf(cfg), myid: i + 1, properties }),
    )
  }

  /** The zoo.cfg that applies these settings at the next start of a server. */
  cfgOf(cfg: string): string {
    return `
tickTime=500
initLimit=20
syncLimit=10
maxClientCnxns=0
preAllocSize=256
fips-mode=false
4lw.commands.whitelist=*
${this.members}
${cfg}
`
  }

  async start(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.launch()))
    await Promise.all(this.servers.map((server) => server.untilServing()))
  }

  async leader(): Promise<ManagedServer> {
    const deadline = Date.now() + patienceMs
    while (Date.now() < deadline) {
      for (const server of this.servers) {
        const mode = server.running ? await modeOf(server) : undefined
        if (mode === 'leader') return server
      }
      await delay(50)
    }
    throw new Error('nobody leads')
  }

  /** Every server that runs serves what was written through every other. */
  async work(name: string): Promise<string[]> {
    const running = this.servers.filter((server) => server.running)
    const problems: string[] = []
    for (const [i, writer] of running.entries()) {
      const client = await RawClient.connect(writer.port)
      const { path } = await client.create(`/${name}-${i}`, 'x')
      await client.close()
      for (const reader of running) {
        const other = await RawClient.connect(reader.port)
        await other.must('sync', { path })
        const { err } = await other.call('getData', { path, watch: false })
        if (err !== 0) problems.push(`${path} is not on ${reader.name}: ${err}`)
        await other.close()
      }
    }
    return problems
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()))
  }
}

export async function modeOf(server: ManagedServer): Promise<string | undefined> {
  return /^Mode: (\w+)/m.exec(await askFourLetters(loopback, server.port, 'srvr'))?.[1]
}

type Role = 'leader' | 'follower' | 'observer'

/** zabra in every role of an ensemble of Apache's servers, and the other way round. */
export async function* runEnsembles(
  apache: Apache,
  pki: Pki,
  only: string,
): AsyncGenerator<Outcome> {
  const [java, own] = [apacheCommand(apache), zabraCommand()]
  const casts: readonly { role: Role; commands: readonly ServerCommand[]; who: string }[] = [
    { role: 'leader', commands: [java, java, own], who: 'zabra leads' },
    { role: 'follower', commands: [own, java, java], who: 'zabra follows' },
    { role: 'observer', commands: [java, java, own], who: 'zabra observes' },
    { role: 'observer', commands: [own, own, java], who: 'Apache observes' },
  ]
  for (const { name, cfg } of securities(pki)) {
    for (const { role, commands, who } of casts) {
      const where = `${apache.version}, ${name}, ${who}`
      if (only !== '' && !where.includes(only)) continue
      yield { where, problems: await runOne(commands, pki, cfg, role) }
    }
  }
}

async function runOne(
  commands: readonly ServerCommand[],
  pki: Pki,
  cfg: string,
  role: Role,
): Promise<string[]> {
  const ensemble = await SecureEnsemble.open(
    commands,
    pki,
    cfg,
    role === 'observer' ? 3 : undefined,
  )
  const last = ensemble.servers[2]!
  try {
    await ensemble.start()
    const problems = await ensemble.work('first')
    const leader = await ensemble.leader()
    const isOurs = leader.name === 'zabra'
    if (role !== 'observer' && isOurs !== (role === 'leader')) problems.push(`${leader.name} leads`)
    if (role === 'observer' && (await modeOf(last)) !== 'observer') problems.push('no observer')
    // Somebody else leads, and the one that led comes back; two voters need each other for that.
    await leader.stop('SIGKILL')
    if (role !== 'observer') {
      await ensemble.leader()
      problems.push(...(await ensemble.work('second')))
    }
    await leader.start()
    await Promise.all(ensemble.servers.map((server) => server.untilServing()))
    problems.push(...(await ensemble.work('third')))
    return problems
  } catch (error) {
    return [String(error), ...ensemble.servers.map((server) => server.logTail(15))]
  } finally {
    await ensemble.dispose()
  }
}
