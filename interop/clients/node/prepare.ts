import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, runTool, say } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client } from '../client.ts'
import { converse } from '../conversation.ts'

/** A client from npm, in a folder of its own so that it meets nothing of this workspace. */
export function npmClient(name: 'node-zookeeper-client' | 'zookeeper', version: string): Client {
  return {
    name,
    checks: everyday,
    async prepare() {
      const home = join(cacheDir, 'npm', `${name}-${version}`)
      const loads = () => runTool(process.execPath, ['-e', `require('${name}')`], { cwd: home })
      if (!existsSync(home) || !(await loads()).ok) {
        const failure = await install(home, name, version)
        if (failure !== undefined) return unprepared(`npm could not install ${name}`, failure)
      }
      const loaded = await loads()
      if (!loaded.ok) return unprepared(`${name} was installed but does not load`, loaded.output)
      const command = [process.execPath, join(import.meta.dirname, `${name}.mjs`), home]
      return { ok: true, version, run: (server) => converse(command, everyday, server) }
    },
  }
}

async function install(home: string, name: string, version: string): Promise<string | undefined> {
  say(`installing ${name} ${version} with npm`)
  // The native one compiles Apache's C client, which it brings along.
  if (name === 'zookeeper') await ensureTool('make', ['make', 'g++', 'python3', 'cmake'])
  await rm(home, { recursive: true, force: true })
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', `${name}@${version}`]
  const { ok, output } = await runTool('npm', args, { cwd: home, timeoutMs: 400_000 })
  return ok ? undefined : output
}
