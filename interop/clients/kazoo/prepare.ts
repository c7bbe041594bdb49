import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, installDebian, runTool, say } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client, type Program, type UnpreparedClient } from '../client.ts'
import { converse } from '../conversation.ts'

export const kazooVersion = '2.11.0'

/** kazoo from PyPI, in a separate virtual environment. */
export const kazoo: Client = {
  name: 'kazoo',
  checks: everyday,
  async prepare() {
    const found = await pythonWithKazoo()
    if (!found.ok) return found
    const command = [found.program, join(import.meta.dirname, 'client.py')]
    return { ok: true, version: kazooVersion, run: (server) => converse(command, everyday, server) }
  },
}

/** A Python that can import it. */
export async function pythonWithKazoo(): Promise<Program | UnpreparedClient> {
  const home = join(cacheDir, `kazoo-${kazooVersion}`)
  const program = join(home, 'bin', 'python')
  const installed = join(home, 'installed')
  if (existsSync(installed)) return { ok: true, program }
  await rm(home, { recursive: true, force: true })
  if (!(await ensureTool('python3', ['python3', 'python3-venv']))) {
    return unprepared('there is no python3', 'apt-get could not install it')
  }
  say(`installing kazoo ${kazooVersion} with pip`)
  const made = await makeEnvironment(home)
  if (!made.ok) return unprepared('python3 -m venv failed', made.output)
  const args = ['-m', 'pip', 'install', '--quiet', `kazoo==${kazooVersion}`]
  const pip = await runTool(program, args, { timeoutMs: 180_000 })
  if (!pip.ok) return unprepared(`pip could not install kazoo ${kazooVersion}`, pip.output)
  await runTool('touch', [installed])
  return { ok: true, program }
}

/** In Debian, venv is a separate package. */
async function makeEnvironment(home: string) {
  const make = () => runTool('python3', ['-m', 'venv', home], { timeoutMs: 120_000 })
  const made = await make()
  if (made.ok) return made
  await installDebian(['python3-venv'])
  return make()
}
