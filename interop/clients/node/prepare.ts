import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, runTool, say } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client, type UnpreparedClient } from '../client.ts'
import { converse } from '../conversation.ts'

export type NpmClientName = keyof typeof npmClientVersions

/** The versions on npm. */
export const npmClientVersions = { 'node-zookeeper-client': '1.1.3', zookeeper: '7.3.0' } as const

/** A client from npm. */
export function npmClient(name: NpmClientName): Client {
  return {
    name,
    checks: everyday,
    async prepare() {
      const found = await npmModules(name)
      if (!found.ok) return found
      const command = [process.execPath, join(import.meta.dirname, `${name}.mjs`), found.home]
      return {
        ok: true,
        version: npmClientVersions[name],
        run: (server) => converse(command, everyday, server),
      }
    },
  }
}

/** A separate folder with the client, so that it finds nothing of this workspace. */
export async function npmModules(
  name: NpmClientName,
): Promise<{ readonly ok: true; readonly home: string } | UnpreparedClient> {
  const version = npmClientVersions[name]
  const home = join(cacheDir, 'npm', `${name}-${version}`)
  const loads = () => runTool(process.execPath, ['-e', `require('${name}')`], { cwd: home })
  if (!existsSync(home) || !(await loads()).ok) {
    const failure = await install(home, name, version)
    if (failure !== undefined) return unprepared(`npm could not install ${name}`, failure)
  }
  const loaded = await loads()
  if (!loaded.ok) return unprepared(`${name} was installed but does not load`, loaded.output)
  return { ok: true, home }
}

async function install(home: string, name: string, version: string): Promise<string | undefined> {
  say(`installing ${name} ${version} with npm`)
  // The native client compiles Apache's C client, which it contains.
  if (name === 'zookeeper') await ensureTool('make', ['make', 'g++', 'python3', 'cmake'])
  await rm(home, { recursive: true, force: true })
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', `${name}@${version}`]
  const { ok, output } = await runTool('npm', args, { cwd: home, timeoutMs: 400_000 })
  return ok ? undefined : output
}
