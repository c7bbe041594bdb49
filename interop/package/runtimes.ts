import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { initTls, startServer, type RunningServer } from '@zabra/server'
import { startProxy, type FaultProxy } from '@zabra/testing'
import { failed, notRun, ok, type Check } from '../src/checks.ts'
import { runTool, type ToolResult } from '../src/tools.ts'
import type { FreshProject } from './fresh-project.ts'

const runtimes = ['node', 'bun', 'deno'] as const
type Runtime = (typeof runtimes)[number]

/** The registry's names of the runtimes are those of the programs. */
const releases = { bun: 'bun@1', deno: 'deno@2' } as const
const programs = join(import.meta.dirname, 'consumer', 'runtimes')
const typedProgram = join(import.meta.dirname, 'consumer', 'program.ts')
const programMs = 180_000

/** The packages under Bun and Deno, which npm installs; under Node too, to judge the programs. */
export function otherRuntimes(
  project: FreshProject,
  packages: readonly string[],
  freshTree: () => string,
): Check[] {
  const files = readdirSync(programs)
  const names = files.filter((file) => file !== 'setting.mjs')
  let installed: Promise<string | undefined> | undefined
  const install = async (): Promise<string | undefined> => {
    const { ok: isGood, output } = await project.install(...Object.values(releases), ...packages)
    for (const file of files) project.write(file, readFileSync(join(programs, file), 'utf8'))
    project.write('program.ts', readFileSync(typedProgram, 'utf8'))
    return isGood ? undefined : output
  }
  const check = (runtime: Runtime, file: string, run: () => Promise<ToolResult>): Check => ({
    name: `${runtime}: ${file.replace(/\.mjs$/, '')}`,
    run: async () => {
      const problem = await (installed ??= install())
      if (problem !== undefined) return notRun(problem)
      const version = await runTool(programOf(runtime, project), ['--version'])
      if (!version.ok) return notRun(version.output)
      const { ok: isGood, output } = await run()
      return isGood && output.trim() === 'all well'
        ? ok(version.output.trim().split('\n')[0])
        : failed(output)
    },
  })
  const start = (runtime: Runtime, file: string, given: string): Promise<ToolResult> => {
    const args = [...permissionsOf(runtime, file), file, given]
    const options = { cwd: project.folder, timeoutMs: programMs }
    return runTool(programOf(runtime, project), args, options)
  }
  return runtimes.flatMap((runtime) => [
    ...names.map((file) =>
      check(runtime, file, async () => {
        await using suite = await Suite.open(project.folder)
        return await start(runtime, file, suite.setting)
      }),
    ),
    // As it is, without a compiler; Node learned that after version 20.
    ...(runtime === 'node'
      ? []
      : [check(runtime, 'program.ts', () => start(runtime, 'program.ts', freshTree()))]),
  ])
}

function programOf(runtime: Runtime, project: FreshProject): string {
  return runtime === 'node' ? process.execPath : project.pathOfTool(runtime)
}

/** The permissions that Deno needs, as docs/client.md lists them. */
function permissionsOf(runtime: Runtime, file: string): readonly string[] {
  if (runtime !== 'deno') return runtime === 'bun' ? ['run'] : []
  const permissions = ['--no-prompt', '--allow-net', '--allow-sys=hostname']
  const withFiles = file === 'tls.mjs' ? ['--allow-read', '--allow-write'] : []
  return ['run', ...permissions, ...withFiles]
}

/** A server with TLS and SASL, and a proxy for each of its ports, which programs control by HTTP. */
class Suite implements AsyncDisposable {
  private readonly server: RunningServer
  private readonly proxies: { readonly plain: FaultProxy; readonly secure: FaultProxy }
  private readonly control: Server
  /** The facts that a program gets on its command line. */
  readonly setting: string

  private constructor(
    server: RunningServer,
    proxies: { readonly plain: FaultProxy; readonly secure: FaultProxy },
    control: Server,
    folders: { readonly certificates: string; readonly folder: string },
  ) {
    this.server = server
    this.proxies = proxies
    this.control = control
    control.on('request', ({ url = '' }, response) => {
      this.fulfill(new URL(url, 'http://suite')).then(
        (isKnown) => response.writeHead(isKnown ? 200 : 404).end(),
        (error: unknown) => response.writeHead(500, String(error)).end(),
      )
    })
    this.setting = JSON.stringify({
      servers: `${server.connectString}/app`,
      proxied: `${proxies.plain.connectString}/app`,
      secure: `localhost:${proxies.secure.port}/app`,
      suite: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
      ...folders,
    })
  }

  static async open(parent: string): Promise<Suite> {
    const folder = mkdtempSync(join(parent, 'program-'))
    const certificates = join(folder, 'tls')
    mkdirSync(certificates)
    initTls({
      directory: certificates,
      servers: [{ name: 'server', hosts: ['localhost'] }],
      clients: ['ann'],
      organization: 'zabra',
      days: 1,
      authorityDays: 1,
      renew: false,
    })
    const server = await startServer({
      config: {
        tickTime: 100,
        maxSessionTimeout: 60_000,
        'sasl.usersFile': join(programs, '..', 'users.txt'),
        secureClientPort: 0,
        'ssl.keyStore.location': join(certificates, 'server.pem'),
        'ssl.trustStore.location': join(certificates, 'ca.pem'),
      },
    })
    const proxies = {
      plain: await startProxy(server.connectString),
      secure: await startProxy(server.secureConnectString),
    }
    const control = createServer()
    await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
    return new Suite(server, proxies, control, { certificates, folder })
  }

  /** False if there is no such wish. */
  private async fulfill({ pathname, searchParams }: URL): Promise<boolean> {
    const [wish, which] = pathname.slice(1).split('-')
    const proxy = which === 'secure' ? this.proxies.secure : this.proxies.plain
    if (wish === 'cut') proxy.cut()
    else if (wish === 'hold') proxy.hold()
    else if (wish === 'heal') await proxy.heal()
    else if (wish === 'expire') await this.server.endSession(BigInt(searchParams.get('id')!))
    else return false
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.control.closeAllConnections()
    await new Promise((resolve) => this.control.close(resolve))
    await Promise.all([this.proxies.plain.stop(), this.proxies.secure.stop()])
    await this.server.stop()
  }
}
