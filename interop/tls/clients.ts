import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { readFileSync } from 'node:fs'
import { Client } from '@zabra/client'
import { go } from '../clients/go/prepare.ts'
import { compile, javaCommand } from '../clients/java/prepare.ts'
import { compileSecureC } from './clients/c/prepare.ts'
import { pythonWithKazoo } from '../clients/kazoo/prepare.ts'
import { cacheDir, findApache, type ApacheRelease } from '../src/apache.ts'
import { ensureTool, runTool } from '../src/tools.ts'
import { here, saslUser, storePassword, type Pki } from './pki.ts'

/** How a client connects. */
export interface Way {
  readonly name: string
  /** Undefined: without TLS. */
  readonly certificate?: 'own' | 'foreign' | 'none' | undefined
  readonly sasl?: 'right' | 'wrong'
}

export const ways: readonly Way[] = [
  { name: 'TLS with a certificate', certificate: 'own' },
  { name: 'TLS without one', certificate: 'none' },
  { name: 'TLS with one of a stranger', certificate: 'foreign' },
  { name: 'SASL', sasl: 'right' },
  { name: 'SASL with a wrong password', sasl: 'wrong' },
  { name: 'TLS and SASL', certificate: 'own', sasl: 'right' },
  { name: 'plain' },
]

export interface Target {
  readonly port: number
  readonly path: string
}

export interface SecureClient {
  readonly name: string
  /** Its output, line by line; undefined if the client lacks the feature. */
  run(way: Way, target: Target): Promise<string | undefined>
}

/**
 * The output that every client must give with either server. Undefined if it depends on the client:
 * with an optional certificate, some clients withhold one that the server would refuse, others
 * present it.
 */
export function expectedOf(
  { certificate, sasl }: Way,
  clientAuth: 'none' | 'want' | 'need',
): string | undefined {
  const isAsked = clientAuth !== 'none'
  if (sasl === 'wrong') return 'refused'
  if (certificate === 'foreign' && clientAuth === 'want') return undefined
  if (certificate === 'foreign' && isAsked) return 'refused'
  if (certificate === 'none' && clientAuth === 'need') return 'refused'
  const ids: string[] = []
  if (sasl !== undefined) ids.push(`sasl:${saslUser.name}`)
  if (certificate === 'own' && isAsked) ids.push('x509:CN=alice,O=zabra')
  return [`acl ${ids.join(' ') || 'none'}`, 'data true', 'watch true', 'closed'].join('\n')
}

/** How long a client may take to connect; one that is refused would try forever. */
const patienceMs = 8000

export async function prepareClients(
  pki: Pki,
): Promise<{ clients: SecureClient[]; missing: string[] }> {
  const missing: string[] = []
  const clients: SecureClient[] = [zabraClient(pki)]
  const add = (found: SecureClient | string): void => {
    if (typeof found === 'string') missing.push(found)
    else clients.push(found)
  }
  for (const release of ['3.9', '3.8'] as const) {
    for (const form of release === '3.9' ? (['pem', 'jks'] as const) : (['p12'] as const)) {
      add(await javaClient(release, form, pki))
    }
    add(await shellClient(release, pki))
  }
  add(await kazooClient(pki))
  add(await goClient(pki))
  add(await cClient(pki))
  return { clients, missing }
}

function javaProperties(
  { certificate, sasl }: Way,
  form: 'pem' | 'p12' | 'jks',
  pki: Pki,
): string[] {
  const properties = ['zookeeper.fips-mode=false']
  const password = form === 'pem' ? '' : storePassword
  if (certificate !== undefined) {
    properties.push(
      'zookeeper.client.secure=true',
      'zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty',
      `zookeeper.ssl.trustStore.location=${pki.path(`ca.${form}`)}`,
      `zookeeper.ssl.trustStore.password=${password}`,
    )
    if (certificate === 'own') {
      properties.push(
        `zookeeper.ssl.keyStore.location=${pki.path(`alice.${form}`)}`,
        `zookeeper.ssl.keyStore.password=${password}`,
      )
    } else if (certificate === 'foreign') {
      properties.push(`zookeeper.ssl.keyStore.location=${pki.stranger.path('mallory.pem')}`)
    }
  }
  if (sasl === undefined) properties.push('zookeeper.sasl.client=false')
  else {
    const file = sasl === 'right' ? 'client.jaas' : 'wrong.jaas'
    properties.push(`java.security.auth.login.config=${pki.path(file)}`)
  }
  return properties.map((property) => `-D${property}`)
}

/** Apache's Java client, with stores of one format. */
async function javaClient(
  release: ApacheRelease,
  form: 'pem' | 'p12' | 'jks',
  pki: Pki,
): Promise<SecureClient | string> {
  const apache = await findApache(release)
  if (!apache.ok) return apache.reason
  const name = `java-${release}`
  const built = await compile(`secure-${name}`, ['SecureClient'], apache.classPath, here('clients'))
  if (!built.ok) return `${name}: javac failed: ${built.output}`
  return {
    name: `${name} ${form}`,
    async run(way, { port, path }) {
      const [java = '', ...rest] = javaCommand([built.dir, apache.classPath], 'SecureClient')
      const args = [...javaProperties(way, form, pki), ...rest]
      return said(await runTool(java, [...args, `localhost:${port}`, path, `${patienceMs}`]))
    },
  }
}

/** The program behind zkCli.sh, with the properties that its users set. */
async function shellClient(release: ApacheRelease, pki: Pki): Promise<SecureClient | string> {
  const apache = await findApache(release)
  if (!apache.ok) return apache.reason
  const jars = apache.classPath.split(delimiter).filter((jar) => !/jline/.test(jar))
  return {
    name: `zkCli ${release}`,
    async run(way, { port, path }) {
      const form = release === '3.9' ? 'pem' : 'jks'
      const [java = '', ...rest] = javaCommand(jars, 'org.apache.zookeeper.ZooKeeperMain')
      const args = [...javaProperties(way, form, pki), ...rest, '-waitforconnection']
      const once = (...command: string[]) =>
        runTool(
          java,
          [...args, '-timeout', `${patienceMs}`, '-server', `localhost:${port}`, ...command],
          {
            timeoutMs: 30_000,
          },
        )
      // One command each, as scripts do.
      const created = await once('create', path, 'x', 'auth::cdrwa')
      let ids = 'none'
      if (/Acl is not valid/i.test(created.output)) {
        await once('create', path, 'x')
      } else if (created.output.includes(`Created ${path}`)) {
        const { output } = await once('getAcl', path)
        ids = [...output.matchAll(/^'(\S+?),'(.+)$/gm)]
          .map(([, scheme, id]) => `${scheme}:${decodeURIComponent(id!)}`)
          .toSorted()
          .join(' ')
      } else return 'refused'
      const data = /^x$/m.test((await once('get', path)).output)
      const { ok } = await once('delete', path)
      // A command exits before a watch could fire.
      return [`acl ${ids}`, `data ${data}`, 'watch true', ok ? 'closed' : 'failed'].join('\n')
    },
  }
}

async function kazooClient(pki: Pki): Promise<SecureClient | string> {
  const found = await pythonWithKazoo()
  if (!found.ok) return found.reason
  const pip = await runTool(found.program, ['-m', 'pip', 'install', '--quiet', 'pure-sasl'], {
    timeoutMs: 120_000,
  })
  if (!pip.ok) return `kazoo: pip could not install pure-sasl: ${pip.output}`
  return {
    name: 'kazoo',
    async run({ certificate, sasl }, { port, path }) {
      const options: Record<string, unknown> = {}
      if (certificate !== undefined) {
        Object.assign(options, { use_ssl: true, ca: pki.path('ca.pem'), check_hostname: false })
        const own = certificate === 'own' ? pki.path('alice.pem') : pki.stranger.path('mallory.pem')
        if (certificate !== 'none') Object.assign(options, { certfile: own, keyfile: own })
      }
      if (sasl !== undefined) {
        const password = sasl === 'right' ? saslUser.password : 'no'
        options['sasl_options'] = { mechanism: 'DIGEST-MD5', username: saslUser.name, password }
      }
      // kazoo does not pass on this option.
      delete options['check_hostname']
      const args = [
        here('clients/secure_client.py'),
        `localhost:${port}`,
        path,
        `${patienceMs}`,
        JSON.stringify(options),
      ]
      return said(await runTool(found.program, args))
    },
  }
}

async function goClient(pki: Pki): Promise<SecureClient | string> {
  if (!(await ensureTool('go', ['golang-go']))) return 'go: there is none'
  const program = join(cacheDir, 'build', 'go-secure', 'client')
  await mkdir(join(cacheDir, 'build', 'go-secure'), { recursive: true })
  const built = await go(here('clients/go'), 'build', '-o', program, '.')
  if (!built.ok) return `go build failed: ${built.output}`
  return {
    name: 'go',
    async run({ certificate, sasl }, { port, path }) {
      if (sasl !== undefined) return undefined
      const args = [`localhost:${port}`, path, `${patienceMs}`]
      if (certificate !== undefined) args.push(pki.path('ca.pem'))
      if (certificate === 'own') args.push(pki.path('alice.pem'))
      if (certificate === 'foreign') args.push(pki.stranger.path('mallory.pem'))
      return said(await runTool(program, args))
    },
  }
}

async function cClient(pki: Pki): Promise<SecureClient | string> {
  const compiled = await compileSecureC()
  if ('reason' in compiled) return compiled.reason
  const pem = (file: string): string => `${pki.path('ca.pem')},${file},${file},`
  return {
    name: 'c',
    async run({ certificate, sasl }, { port, path }) {
      // The client offers either TLS with a certificate or SASL.
      if (certificate === 'none' || (certificate !== undefined && sasl !== undefined))
        return undefined
      const args = [`127.0.0.1:${port}`, path, `${patienceMs}`]
      if (certificate === 'own') args.push('--tls', pem(pki.path('alice.pem')))
      if (certificate === 'foreign') args.push('--tls', pem(pki.stranger.path('mallory.pem')))
      if (sasl !== undefined) {
        const password = sasl === 'right' ? saslUser.password : 'no'
        args.push('--sasl', saslUser.name, pki.authority.write(`${sasl}.password`, password))
      }
      return said(await runTool(compiled.program, args))
    },
  }
}

function zabraClient(pki: Pki): SecureClient {
  return {
    name: 'zabra',
    async run({ certificate, sasl }, { port, path }) {
      const ca = readFileSync(pki.path('ca.pem'))
      const pem = (file: string) => ({ key: readFileSync(file), cert: readFileSync(file) })
      const tls =
        certificate === undefined
          ? undefined
          : {
              ca,
              ...(certificate === 'own' ? pem(pki.path('alice.pem')) : {}),
              ...(certificate === 'foreign' ? pem(pki.stranger.path('mallory.pem')) : {}),
            }
      const password = sasl === 'right' ? saslUser.password : 'no'
      const client = new Client({
        servers: `localhost:${port}`,
        ...(tls === undefined ? {} : { tls }),
        ...(sasl === undefined ? {} : { sasl: { username: saslUser.name, password } }),
      })
      try {
        await client.connected({ timeoutMs: patienceMs })
      } catch {
        await client.close()
        return 'refused'
      }
      try {
        const data = new Uint8Array(700_000).fill(7)
        const creator = [{ perms: 31, id: { scheme: 'auth', id: '' } }]
        let acl = 'none'
        try {
          await client.create(path, data, { acl: creator })
          const entries = (await client.getAcl(path)).acl
          acl = entries
            .map(({ id }) => `${id.scheme}:${id.id}`)
            .toSorted()
            .join(' ')
        } catch (error) {
          if ((error as { reason?: string }).reason !== 'invalidAcl') throw error
          await client.create(path, data)
        }
        const changes = client.watch(path)[Symbol.asyncIterator]()
        const { data: read } = await client.get(path)
        const fired = changes.next()
        await client.set(path, '')
        const watch = (await fired).done !== true
        await client.delete(path)
        const isSame = Buffer.compare(read, data) === 0
        return [`acl ${acl}`, `data ${isSame}`, `watch ${watch}`, 'closed'].join('\n')
      } catch {
        return 'refused'
      } finally {
        await client.close()
      }
    },
  }
}

function said({ output }: { output: string }): string {
  const lines = output.split('\n').filter((line) => /^(refused|acl|data|watch|closed)\b/.test(line))
  return lines.length === 0 ? output.trim() : lines.join('\n')
}
