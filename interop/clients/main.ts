/**
 * Real clients at ordinary work against one server.
 *
 *     npm run test:clients -- [--server zabra|apache-3.9|apache-3.8|'COMMAND ...'] [--only NAME]...
 */
import { parseArgs } from 'node:util'
import { findApache } from '../src/apache.ts'
import { anyCommand, apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { say } from '../src/tools.ts'
import { cClient } from './c/prepare.ts'
import type { Client, Verdict } from './client.ts'
import { curator } from './curator/prepare.ts'
import { goClient } from './go/prepare.ts'
import { javaClient } from './java/prepare.ts'
import { kazoo } from './kazoo/prepare.ts'
import { npmClient } from './node/prepare.ts'
import { readmeNode, readmePython } from './readme/prepare.ts'
import { report, type Result } from './report.ts'
import { shell } from './shell/shell.ts'

const clients: readonly Client[] = [
  javaClient('3.9'),
  javaClient('3.8'),
  cClient,
  kazoo,
  goClient,
  npmClient('node-zookeeper-client'),
  npmClient('zookeeper'),
  shell('3.9'),
  shell('3.8'),
  curator,
  readmePython,
  readmeNode,
]

/** Short ticks allow short sessions, which expire soon. */
const cfg = `
tickTime=500
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
`

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'zabra' },
    only: { type: 'string', multiple: true, default: [] },
  },
})

await main(choose(values.only), await serverCommand(values.server))

async function main(chosen: readonly Client[], server: ServerCommand): Promise<void> {
  const results: Result[] = []
  for (const client of chosen) results.push(await tryOut(client, server))
  const { text, passed, failed, notRun } = report(results)
  console.log(`\nagainst ${server.name}\n\n${text}\n`)
  if (notRun > 0)
    console.log(`!!! ${notRun} of ${chosen.length} clients could NOT be run, see above`)
  console.log(`${passed} passed, ${failed} failed`)
  // A run in which no client was tested proves nothing.
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

/** By name or prefix: `--only java` selects both releases. */
function choose(names: readonly string[]): readonly Client[] {
  if (names.length === 0) return clients
  const found = names.flatMap((name) => {
    const exact = clients.filter((client) => client.name === name)
    const close = exact.length > 0 ? exact : clients.filter((c) => c.name.startsWith(name))
    if (close.length > 0) return close
    throw new Error(`no client ${name}; there are ${clients.map((c) => c.name).join(', ')}`)
  })
  return [...new Set(found)]
}

async function serverCommand(name: string): Promise<ServerCommand> {
  if (name === 'zabra') return zabraCommand()
  if (name !== 'apache-3.9' && name !== 'apache-3.8') {
    return anyCommand('command', name.split(/\s+/))
  }
  const apache = await findApache(name === 'apache-3.9' ? '3.9' : '3.8')
  if (!apache.ok) throw new Error(apache.reason)
  return apacheCommand(apache)
}

/** Each client gets a new server, so that it finds nothing of another one. */
async function tryOut(client: Client, command: ServerCommand): Promise<Result> {
  const prepared = await client.prepare()
  if (!prepared.ok) {
    say(`!!! NOT RUN ${client.name}: ${prepared.reason}`)
    return { client, prepared, verdicts: new Map() }
  }
  const properties = ['znode.container.checkIntervalMs=60000']
  const managed = new ManagedServer(command, { cfg, properties })
  const startedAt = Date.now()
  try {
    await managed.start()
    const verdicts = await prepared.run(managed)
    const failed = [...verdicts.values()].filter((verdict) => verdict.kind === 'failed').length
    say(`${client.name} ${prepared.version}: ${outcome(failed)} after ${Date.now() - startedAt} ms`)
    if (failed > 0) say(managed.logTail(15))
    return { client, prepared, verdicts }
  } catch (error) {
    say(String(error))
    const why = String(error).split('\n')[0] ?? ''
    const failure: Verdict = { kind: 'failed', why }
    const verdicts = new Map(client.checks.map(({ name }) => [name, failure]))
    return { client, prepared, verdicts }
  } finally {
    await managed.dispose()
  }
}

function outcome(failed: number): string {
  return failed === 0 ? 'all well' : `${failed} failed`
}
