import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildExecutable } from '../../scripts/release/build-executable.ts'
import { readManifest, repository } from '../../scripts/release/published-packages.ts'
import { runTool } from '../src/tools.ts'
import type { Check } from '../src/checks.ts'
import { failed, ok } from '../src/checks.ts'
import type { FreshProject } from './fresh-project.ts'
import { Serving, visit } from './serving.ts'

/** The command as one file, in an empty folder, without Node.js on the path. */
export function executable(client: FreshProject, folder: string): Check {
  return {
    name: 'zabra as a single executable',
    run: async () => {
      const home = join(folder, 'executable')
      mkdirSync(home)
      const file = join(home, process.platform === 'win32' ? 'zabra.exe' : 'zabra')
      const bytes = await buildExecutable(file)
      const help = await runTool(file, ['help'], { cwd: home, env: { PATH: '' } })
      if (!help.ok || !/\bserver\b/.test(help.output)) return failed(help.output)

      const server = new Serving(file, [], home, { PATH: '' })
      try {
        const connectString = await server.ready
        client.write('visit.mjs', visit)
        const visited = await client.node('visit.mjs', connectString)
        if (!visited.ok) return failed(`${visited.output}\n${server.output}`)
        const { version } = readManifest(repository)
        const admin = /admin\s+(\S+)/.exec(server.announcement)![1]!
        const told = await (await fetch(`${admin}/commands/environment`)).text()
        if (!told.includes(`zabra-${version},`)) return failed(`another version: ${told}`)
      } finally {
        await server.stop()
      }
      if ((await server.ended) !== 0) return failed(`not stopped cleanly: ${server.output}`)
      // Commands that load more when they need it: the shell, certificates, other processes.
      const shell = `echo 'create /from-the-shell x' | "${file}" shell && "${file}" status`
      const dev = await runTool(file, ['dev', '--', '/bin/sh', '-c', shell], { cwd: home })
      if (!dev.ok || !dev.output.includes('Created /from-the-shell')) return failed(dev.output)
      const tls = await runTool(file, ['dev', '--tls', '--', file, 'ls', '/'], { cwd: home })
      if (!tls.ok || !tls.output.includes('zookeeper')) return failed(tls.output)
      return ok(`${Math.round(bytes / 1024 / 1024)} MB, serves, stops, runs the shell and dev`)
    },
  }
}
