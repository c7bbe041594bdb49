/**
 * Runs the tests of the client, the recipes and the examples against Apache ZooKeeper: the same
 * files that `npm test` runs against zabra.
 *
 *     npm run test:apache -- [--release 3.9]... [--only PART-OF-A-FILE-NAME]...
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { apacheReleases, findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { runTests, type TestOutcome } from './run-tests.ts'
import { findTestFiles } from './test-files.ts'

const workspace = join(import.meta.dirname, '..', '..')
const folders = ['packages/client', 'packages/recipes', 'examples']

/** The settings with which the fixtures of the tests start their own servers. */
const cfg = `
tickTime=100
maxSessionTimeout=120000
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
`

const user = 'bob'
const password = 'bob-secret'
const jaas = `Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required user_${user}="${password}";
};
`

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: ['3.8', '3.9'] },
    only: { type: 'string', multiple: true, default: [] },
  },
})

const { onAnyServer, onTheirOwn } = findTestFiles(workspace, folders)
const isChosen = (file: string): boolean =>
  values.only.length === 0 || values.only.some((part) => file.includes(part))
const files = onAnyServer.filter(isChosen)
if (files.length === 0) throw new Error('no test file has such a name')
const notRun = onTheirOwn
  .filter(isChosen)
  .map((file) => `${file}: starts zabra itself, and says nothing about Apache`)
let failed = 0
let passed = 0
for (const release of values.release) await against(parseRelease(release))
if (notRun.length > 0) {
  console.log(`!!! NOT RUN, ${notRun.length}:`)
  for (const line of notRun) console.log(`  - ${line}`)
}
console.log(`\n${passed} passed, ${failed} failed, ${notRun.length} not run`)
// A run in which nothing was tested proves nothing.
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

async function against(release: ApacheRelease): Promise<void> {
  const apache = await findApache(release)
  if (!apache.ok) {
    notRun.push(`everything against Apache ${release}: ${apache.reason}`)
    return
  }
  say(`${files.length} test files against Apache ${apache.version}`)
  const folder = await mkdtemp(join(tmpdir(), 'zabra-jaas-'))
  const jaasFile = join(folder, 'jaas.conf')
  await writeFile(jaasFile, jaas)
  const properties = [
    `java.security.auth.login.config=${jaasFile}`,
    // Checks containers and TTL nodes often enough for tests.
    'znode.container.checkIntervalMs=1000',
  ]
  const [securePort] = await freePorts(1)
  const tls = await tlsSettings(folder, securePort!)
  const server = new ManagedServer(apacheCommand(apache), { cfg: cfg + tls, properties })
  try {
    await server.start()
    const outcomes = await runTests(workspace, files, {
      ZABRA_TEST_CONNECT: `${server.host}:${server.port}`,
      ZABRA_TEST_RELEASE: apache.release,
      ZABRA_TEST_SASL: `${user}:${password}`,
      ZABRA_TEST_TLS_PORT: String(securePort),
    })
    show(apache.version, outcomes)
    if (outcomes.some(({ status }) => status === 'failed')) say(server.logTail(15))
  } finally {
    await server.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The server uses the certificate of the client's tests, and trusts only that. */
async function tlsSettings(folder: string, port: number): Promise<string> {
  const own = join(workspace, 'packages', 'client', 'test', 'support', 'tls')
  const pem = (name: string): Promise<string> => readFile(join(own, `${name}.pem`), 'utf8')
  const keyStore = join(folder, 'server.pem')
  const trustStore = join(folder, 'trusted.pem')
  await writeFile(keyStore, (await pem('key')) + (await pem('cert')))
  await writeFile(trustStore, await pem('cert'))
  return `
secureClientPort=${port}
secureClientPortAddress=127.0.0.1
ssl.keyStore.location=${keyStore}
ssl.trustStore.location=${trustStore}
ssl.clientAuth=need
`
}

function show(version: string, outcomes: readonly TestOutcome[]): void {
  const count = (file: string, status: TestOutcome['status']): string =>
    `${outcomes.filter((outcome) => outcome.file === file && outcome.status === status).length}`
  const names = [...new Set(outcomes.map(({ file }) => file))].toSorted()
  const rows = names.map((file) => [
    file,
    count(file, 'passed'),
    count(file, 'failed'),
    count(file, 'skipped'),
  ])
  const head = ['', 'passed', 'failed', 'not run']
  console.log(`\nagainst Apache ${version}\n\n${textTable([head, ...rows])}\n`)
  for (const { file, name, status, why } of outcomes) {
    if (status === 'passed') passed++
    else if (status === 'skipped') notRun.push(`${file}: '${name}', against Apache ${version}`)
    else {
      failed++
      console.log(`FAIL ${file}: '${name}'\n${why}\n`)
    }
  }
}

function parseRelease(text: string): ApacheRelease {
  const release = apacheReleases.find((one) => one === text)
  if (release === undefined) throw new Error(`no release ${text}; ${apacheReleases.join(', ')}`)
  return release
}
