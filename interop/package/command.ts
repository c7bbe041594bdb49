import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { repository } from '../../scripts/release/published-packages.ts'
import { installation } from './facts.ts'
import type { FreshProject } from './fresh-project.ts'
import { failed, ok, type Check } from '../src/checks.ts'

const bytesMax = 4 * 1024 * 1024
const startMs = 30_000
const stopMs = 10_000

/** The command from its tarball, in a folder that has nothing else. */
export function command(project: FreshProject, client: FreshProject, tarball: string): Check[] {
  return [
    ...installation('zabra', project, { packages: ['zabra'], bytesMax }),
    {
      name: 'npx zabra',
      run: async () => {
        const installed = await project.npx('zabra', '--help')
        if (!installed.ok || !/\bserver\b/.test(installed.output)) return failed(installed.output)
        const elsewhere = await client.npx(`--package=${tarball}`, 'zabra', 'server', '--help')
        return elsewhere.ok && elsewhere.output.includes('--port')
          ? ok('installed, and from the tarball')
          : failed(elsewhere.output)
      },
    },
    {
      name: 'npx zabra server: the same as npm start',
      run: async () => {
        const ours = await serve('npx', ['--yes', 'zabra'], project.folder, client)
        const clone = await serve(join(repository, 'bin/zabra'), [], project.folder, client)
        return ours === clone ? ok('serves, keeps data, stops') : failed(`${ours}\n\n${clone}`)
      },
    },
    {
      name: 'zabra server: stops on SIGTERM with exit code 0',
      run: async () => {
        const server = new Serving(project.pathOfTool('zabra'), [], project.folder)
        await server.ready
        const code = await server.stop()
        return code === 0 ? ok() : failed(`exit code ${code}\n${server.output}`)
      },
    },
  ]
}

/** Runs the server, lets a client write, and answers with what it said, without what varies. */
async function serve(
  program: string,
  args: readonly string[],
  folder: string,
  client: FreshProject,
): Promise<string> {
  const server = new Serving(program, args, folder)
  try {
    const connectString = await server.ready
    client.write('visit.mjs', visit)
    const { ok: isGood, output } = await client.node('visit.mjs', connectString)
    if (!isGood) throw new Error(`${output}\n${server.output}`)
  } finally {
    await server.stop()
  }
  return server.announcement.replaceAll(/:\d+/g, ':PORT').replace(/ready in \d+ ms/, 'ready')
}

/** Both servers use one data directory: the first visit leaves a node for the second. */
const visit = `
import { connect } from '@zabra/client'
const client = await connect(process.argv[2])
await client.ensure('/visits')
await client.create('/visits/v-', '', { sequential: true })
await client.close()
`

class Serving {
  private readonly child
  private readonly ended: Promise<number | null>
  /** The connect string that the server announces. */
  readonly ready: Promise<string>
  /** What it says on stdout. */
  announcement = ''
  /** Everything it says. */
  output = ''

  constructor(program: string, args: readonly string[], cwd: string) {
    const options = ['--port', '0', '--address', '127.0.0.1', '--admin-port', '0']
    this.child = spawn(program, [...args, 'server', ...options], { cwd, detached: true })
    const { child } = this
    this.ended = new Promise((onEnd) => child.on('close', onEnd))
    this.ready = new Promise((onReady, onFailure) => {
      const late = setTimeout(() => {
        onFailure(new Error(`not ready in time: ${this.output}`))
      }, startMs)
      const hear = (chunk: Buffer): void => {
        this.output += chunk.toString()
        const address = /serves ZooKeeper clients on (\S+)/.exec(this.output)?.[1]
        if (address === undefined) return
        clearTimeout(late)
        onReady(address)
      }
      child.stdout.on('data', (chunk: Buffer) => {
        this.announcement += chunk.toString()
        hear(chunk)
      })
      child.stderr.on('data', hear)
      child.on('error', onFailure)
      child.on('close', () => onFailure(new Error(this.output)))
    })
    // Whoever waits hears of it; a server that ended after it was ready is no failure.
    this.ready.catch(() => {})
  }

  /** As a terminal or systemd does: every process of the group gets the signal. */
  async stop(): Promise<number | null> {
    const late = setTimeout(() => this.#signal('SIGKILL'), stopMs)
    this.#signal('SIGTERM')
    const code = await this.ended
    clearTimeout(late)
    return code
  }

  #signal(name: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.child
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, name)
  }
}
