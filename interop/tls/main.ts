/**
 * Real clients and real ensembles over TLS and SASL, beside Apache's.
 *
 *     npm run test:tls -- [--part PART]... [--only NAME] [--release 3.9]...
 *
 * The parts are the files beside this one:
 *
 * `clients.ts`: every client in every way against servers of both kinds; each must say the same.
 * `ensembles.ts`: Apache and zabra together over TLS, over SASL and over both, in every role.
 * `observer-masters.ts`: observers of both kinds that connect to followers over TLS.
 * `move.ts`: an ensemble of both kinds from plain ports to TLS, under load, and to another authority.
 * `acl.ts`: operations, identities and ACLs, each with each; the answers must be Apache's.
 * `audit.ts`: the audit log of the same work.
 */
import { parseArgs } from 'node:util'
import { findApache, type Apache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import { say } from '../src/tools.ts'
import { textTable } from '../src/text-table.ts'
import { compareAcls } from './acl.ts'
import { compareAudits } from './audit.ts'
import { expectedOf, prepareClients, ways, type SecureClient, type Way } from './clients.ts'
import { runEnsembles } from './ensembles.ts'
import { moveToTls } from './move.ts'
import { runObserverMasters } from './observer-masters.ts'
import { Pki } from './pki.ts'
import { SecureServer, type ClientAuth, type StoreForm } from './secure-server.ts'

const { values } = parseArgs({
  options: {
    part: {
      type: 'string',
      multiple: true,
      default: ['clients', 'ensembles', 'observer-masters', 'move', 'acl', 'audit'],
    },
    only: { type: 'string', default: '' },
    release: { type: 'string', multiple: true, default: ['3.8', '3.9'] },
  },
})

/** How many clients run at once. */
const atOnce = 3

/**
 * The output of a client with the first server of a case, which must be the same with the others.
 */
const answers = new Map<string, string>()

const failures: string[] = []
const missing: string[] = []
let passed = 0

function reckon(where: string, problems: readonly string[]): void {
  if (problems.length === 0) passed++
  say(`${where}: ${problems.length === 0 ? 'ok' : 'FAIL'}`)
  failures.push(...problems.map((problem) => `${where}: ${problem}`))
}

const pki = await Pki.make()
try {
  const apaches: Apache[] = []
  for (const release of values.release as ApacheRelease[]) {
    const apache = await findApache(release)
    if (apache.ok) apaches.push(apache)
    else missing.push(apache.reason)
  }
  const newest = apaches.at(-1)
  const wants = (part: string): boolean => values.part.includes(part)
  if (wants('clients')) await tryClients(apaches)
  if (wants('ensembles')) {
    for (const apache of apaches) {
      for await (const { where, problems } of runEnsembles(apache, pki, values.only)) {
        reckon(where, problems)
      }
    }
  }
  if (wants('observer-masters')) {
    for (const apache of apaches) {
      for await (const { where, problems } of runObserverMasters(apache, pki, values.only)) {
        reckon(where, problems)
      }
    }
  }
  if (wants('move') && newest !== undefined) {
    for await (const { where, problems } of moveToTls(newest, pki)) reckon(where, problems)
  }
  if (wants('acl') && newest !== undefined) {
    const { compared, differences } = await compareAcls(newest, pki)
    reckon(`${compared} answers about ACLs compared with ${newest.version}`, differences)
  }
  if (wants('audit') && newest !== undefined) {
    reckon(`the audit log of ${newest.version}`, await compareAudits(newest))
  }
} finally {
  pki.dispose()
}
for (const failure of failures) console.log(`FAIL ${failure}`)
for (const reason of missing) console.log(`!!! NOT RUN: ${reason}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exitCode = failures.length > 0 || passed === 0 ? 1 : 0

interface Case {
  readonly form: StoreForm
  readonly clientAuth: ClientAuth
  readonly ways: readonly Way[]
}

async function tryClients(apaches: readonly Apache[]): Promise<void> {
  const prepared = await prepareClients(pki)
  missing.push(...prepared.missing)
  const clients = prepared.clients.filter(({ name }) => name.startsWith(values.only))
  const byCertificate = ways.filter(
    ({ sasl, certificate }) => sasl === undefined && certificate !== undefined,
  )
  const cases: readonly Case[] = [
    { form: 'pem', clientAuth: 'need', ways },
    { form: 'p12', clientAuth: 'want', ways: byCertificate },
    { form: 'jks', clientAuth: 'none', ways: byCertificate },
  ]
  for (const command of [
    zabraCommand(),
    ...apaches.slice(-1).map((apache) => apacheCommand(apache)),
  ]) {
    for (const each of cases) {
      const server = await SecureServer.start(command, pki, each)
      try {
        await tryCase(`${command.name}, ${each.form}, ${each.clientAuth}`, each, server, clients)
      } catch (error) {
        reckon(command.name, [`${String(error)}\n${server.managed.logTail()}`])
      } finally {
        await server.managed.dispose()
      }
    }
  }
}

async function tryCase(
  where: string,
  { clientAuth, ways: tried }: Case,
  server: SecureServer,
  clients: readonly SecureClient[],
): Promise<void> {
  const rows: string[][] = [['', ...tried.map(({ name }) => name)]]
  const cells = clients.map(() => tried.map(() => ''))
  const jobs = clients.flatMap((client, i) => tried.map((way, j) => ({ client, way, i, j })))
  const work = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { client, way, i, j } = job
      const port =
        way.certificate === undefined && way.name !== 'plain' ? server.port : server.securePort
      const told = await client.run(way, { port, path: `/c${i}-${j}` })
      // Plain bytes on the TLS port are refused.
      const expected = way.name === 'plain' ? 'refused' : expectedOf(way, clientAuth)
      if (told === undefined) cells[i]![j] = 'absent'
      else {
        const wanted = expected ?? answers.get(`${clientAuth} ${client.name} ${way.name}`) ?? told
        answers.set(`${clientAuth} ${client.name} ${way.name}`, told)
        cells[i]![j] = told === wanted ? 'ok' : 'FAIL'
        const problem = `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(told.slice(0, 500))}`
        reckon(`${where}: ${client.name}, ${way.name}`, told === wanted ? [] : [problem])
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  for (const [i, client] of clients.entries()) rows.push([client.name, ...cells[i]!])
  console.log(`\n${where}\n${textTable(rows)}\n`)
}
