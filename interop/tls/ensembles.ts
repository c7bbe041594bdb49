import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { Apache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { Ensemble, testCfg, type EnsembleOptions, type EnsembleServer } from '../src/ensemble.ts'
import { storePassword, type Pki } from './pki.ts'

const commonCfg = `
${testCfg}
fips-mode=false
`

/** The protection of connections between servers. */
export interface Security {
  readonly name: string
  readonly cfg: string
}

/** The lines of zoo.cfg for TLS between servers, except those for outgoing connections. */
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

/** The lines of zoo.cfg that demand SASL between servers. */
export const saslCfg = `
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

/** The servers of an ensemble. If they start together, the last one leads: it has the highest number. */
export class SecureEnsemble {
  private readonly ensemble: Ensemble

  static async open(
    commands: readonly ServerCommand[],
    pki: Pki,
    options: EnsembleOptions,
  ): Promise<SecureEnsemble> {
    const ensemble = await Ensemble.open(commands, {
      ...options,
      cfg: `${commonCfg}${options.cfg}`,
      properties: [`java.security.auth.login.config=${pki.path('server.jaas')}`],
    })
    return new SecureEnsemble(ensemble)
  }

  private constructor(ensemble: Ensemble) {
    this.ensemble = ensemble
  }

  get servers(): readonly EnsembleServer[] {
    return this.ensemble.servers
  }

  /** The zoo.cfg that applies these settings at the next start of a server. */
  cfgFor(server: EnsembleServer, cfg: string): string {
    return this.ensemble.cfgFor(server, `${commonCfg}${cfg}`)
  }

  start(...groups: readonly (readonly number[])[]): Promise<void> {
    return this.ensemble.start(...groups)
  }

  leader(): Promise<EnsembleServer> {
    return this.ensemble.leader()
  }

  /** Every running server serves what was written through every other one. */
  async work(name: string): Promise<string[]> {
    const { running } = this.ensemble
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
    await this.ensemble.dispose()
  }
}

type Role = 'leader' | 'follower' | 'observer'

/** zabra in every role of an ensemble of Apache's servers, and the reverse. */
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
  const ensemble = await SecureEnsemble.open(commands, pki, {
    cfg,
    observers: role === 'observer' ? [3] : [],
  })
  const last = ensemble.servers[2]!
  try {
    await ensemble.start()
    const problems = await ensemble.work('first')
    const leader = await ensemble.leader()
    const isOurs = leader.name === 'zabra'
    if (role !== 'observer' && isOurs !== (role === 'leader')) problems.push(`${leader.name} leads`)
    if (role === 'observer' && (await last.mode()) !== 'observer') problems.push('no observer')
    // Another server leads, and the previous leader comes back; two voters need each other for
    // that.
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
