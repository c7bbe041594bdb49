import { join } from 'node:path'
import { repository } from '../../scripts/release/published-packages.ts'
import { installation } from './facts.ts'
import type { FreshProject } from './fresh-project.ts'
import { failed, ok, type Check } from '../src/checks.ts'
import { Serving, visit } from './serving.ts'

const bytesMax = 4 * 1024 * 1024

/** The command from its tarball, in a folder with nothing else. */
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

/** Runs the server, lets a client write, and returns the output without its variable parts. */
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
