/**
 * The tests of `@zabra/client`, and of what is built on it, against Apache's servers.
 *
 *     npm run test:apache -- [--release 3.9]... [vitest's arguments]
 */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findApache, type Apache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, ManagedServer } from '../src/servers.ts'
import { say } from '../src/tools.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Short ticks, so that sessions may be short and their expiry is soon seen. */
const cfg = `
tickTime=100
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
`

const user = 'bob'
const password = 'bob-secret'
const jaas = `Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required user_${user}="${password}";
};
`

const { values, positionals } = parseArgs({
  options: { release: { type: 'string', multiple: true, default: ['3.9', '3.8'] } },
  allowPositionals: true,
})

/** Recipes are tested too, where they are. */
const tested = ['packages/client/test', 'packages/recipes'].filter((folder) =>
  existsSync(join(root, folder)),
)

let failures = 0
for (const release of values.release) {
  const apache = await findApache(release as ApacheRelease)
  if (!apache.ok) {
    say(apache.reason)
    failures++
    continue
  }
  failures += (await run(apache)) === 0 ? 0 : 1
}
process.exitCode = failures === 0 ? 0 : 1

async function run(apache: Apache): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'zabra-jaas-'))
  const jaasFile = join(folder, 'jaas.conf')
  writeFileSync(jaasFile, jaas)
  const properties = [`java.security.auth.login.config=${jaasFile}`]
  const server = new ManagedServer(apacheCommand(apache), { cfg, properties })
  try {
    await server.start()
    say(`the tests of the client against ${server.name}`)
    return await vitest({
      ZABRA_TEST_SERVER: `${server.host}:${server.port}`,
      ZABRA_TEST_RELEASE: apache.release,
      ZABRA_TEST_SASL: `${user}:${password}`,
    })
  } finally {
    await server.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}

/** One file after another: they share the server. */
function vitest(env: Record<string, string>): Promise<number> {
  const command = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const targets = positionals.length > 0 ? positionals : tested
  const child = spawn(process.execPath, [command, 'run', '--no-file-parallelism', ...targets], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)))
}
