import { setTimeout as delay } from 'node:timers/promises'
import { errorCodes } from '@zabra/protocol'
import { Authority } from '../../packages/server/test/support/certificates.ts'
import {
  ConnectionLostError,
  openAcl,
  RawClient,
} from '../../packages/server/test/support/raw-client.ts'
import type { Apache } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import type { ManagedServer } from '../src/servers.ts'
import { quorumTls, SecureEnsemble, type Outcome } from './ensembles.ts'
import type { Pki } from './pki.ts'

/**
 * Ensembles that change the protocol between servers, one server at a time, while clients write.
 */
export async function* moveToTls(apache: Apache, pki: Pki): AsyncGenerator<Outcome> {
  const [java, own] = [apacheCommand(apache), zabraCommand()]
  for (const commands of [
    [own, java, own],
    [java, own, java],
  ]) {
    const who = commands.map(({ name }) => name).join(', ')
    const tls = quorumTls(pki)
    yield await underLoad(`from plain to TLS and back: ${who}`, commands, pki, '', [
      `portUnification=true\n${tls}`,
      `portUnification=true\nsslQuorum=true\n${tls}`,
      `sslQuorum=true\n${tls}`,
      `portUnification=true\nsslQuorum=true\n${tls}`,
      `portUnification=true\n${tls}`,
      '',
    ])
    yield await underLoad(`to SASL: ${who}`, commands, pki, '', [
      'quorum.auth.enableSasl=true',
      'quorum.auth.enableSasl=true\nquorum.auth.learnerRequireSasl=true',
      'quorum.auth.enableSasl=true\nquorum.auth.learnerRequireSasl=true\nquorum.auth.serverRequireSasl=true',
    ])
    yield await changeAuthority(`to another authority: ${who}`, commands, pki)
  }
}

/**
 * Both authorities are trusted from before the first change of a certificate until after the last.
 */
function changeAuthority(
  where: string,
  commands: Parameters<typeof SecureEnsemble.open>[0],
  pki: Pki,
): Promise<Outcome> {
  const next = new Authority('Next CA', pki.path('next'))
  next.issueFile('server')
  const both = pki.authority.write('both.pem', `${pki.authority.pem}${next.pem}`)
  const step = (keyStore: string, trustStore: string): string => `
sslQuorum=true
ssl.quorum.keyStore.location=${keyStore}
ssl.quorum.trustStore.location=${trustStore}
`
  const [before, after] = [pki.path('server.pem'), next.path('server.pem')]
  return underLoad(where, commands, pki, step(before, pki.path('ca.pem')), [
    step(before, both),
    step(after, both),
    step(after, next.path('ca.pem')),
  ])
}

async function underLoad(
  where: string,
  commands: Parameters<typeof SecureEnsemble.open>[0],
  pki: Pki,
  first: string,
  steps: readonly string[],
): Promise<Outcome> {
  const ensemble = await SecureEnsemble.open(commands, pki, { cfg: first })
  const problems: string[] = []
  try {
    await ensemble.start()
    const load = new Load(ensemble.servers)
    for (const step of steps) {
      for (const server of ensemble.servers) {
        await server.stop()
        server.become({ cfg: ensemble.cfgFor(server, step) })
        await server.start()
        await Promise.all(ensemble.servers.map((each) => each.untilServing()))
        // All three are up to date before the next one stops.
        problems.push(...(await ensemble.work(`step-${problems.length}-${Date.now()}`)))
      }
    }
    const acknowledged = await load.stop()
    if (acknowledged.length < 50) problems.push(`only ${acknowledged.length} writes`)
    for (const server of ensemble.servers) {
      const lost = await missingFrom(server, acknowledged)
      if (lost.length > 0)
        problems.push(`${server.name} lacks ${lost.length}: ${lost.slice(0, 5).join(' ')}`)
    }
    return { where: `${where} (${acknowledged.length} writes)`, problems }
  } catch (error) {
    problems.push(String(error), ...ensemble.servers.map((server) => server.logTail(12)))
    return { where, problems }
  } finally {
    await ensemble.dispose()
  }
}

async function missingFrom(server: ManagedServer, names: readonly string[]): Promise<string[]> {
  const client = await RawClient.connect(server.port)
  await client.must('sync', { path: '/' })
  const { children } = await client.must('getChildren', { path: '/', watch: false })
  await client.close()
  const there = new Set(children)
  return names.filter((name) => !there.has(name))
}

/**
 * Creates one node after the other through any server that answers, and records acknowledged ones.
 */
class Load {
  private readonly servers: readonly ManagedServer[]
  private readonly acknowledged: string[] = []
  private readonly running: Promise<void>
  private isOver = false

  constructor(servers: readonly ManagedServer[]) {
    this.servers = servers
    this.running = this.run()
  }

  async stop(): Promise<readonly string[]> {
    this.isOver = true
    await this.running
    return this.acknowledged
  }

  private async run(): Promise<void> {
    for (let i = 0; !this.isOver;) {
      try {
        const { port } = this.servers[i % this.servers.length]!
        const client = await RawClient.connect(port, { patienceMs: 3000 })
        for (let count = 0; count < 200 && !this.isOver; count++) {
          const name = `load-${i++}`
          const request = { path: `/${name}`, data: null, acl: openAcl, flags: 0 }
          const { err } = await client.call('create2', request)
          if (err === errorCodes.ok) this.acknowledged.push(name)
          await delay(2)
        }
        await client.close()
      } catch (error) {
        if (!(error instanceof ConnectionLostError) && !/ECONN/.test(String(error))) throw error
        i++
        await delay(20)
      }
    }
  }
}
