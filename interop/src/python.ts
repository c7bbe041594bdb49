import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unprepared, type UnpreparedClient } from '../clients/client.ts'
import { cacheDir } from './apache.ts'
import { ensureTool, installDebian, runTool, say } from './tools.ts'

export interface PythonHome {
  readonly ok: true
  /** The folder with the commands of the packages. */
  readonly bin: string
}

/** Installs PyPI packages into a separate virtual environment. */
export async function installPython(
  name: string,
  packages: readonly string[],
): Promise<PythonHome | UnpreparedClient> {
  const home = join(cacheDir, name)
  const bin = join(home, 'bin')
  const installed = join(home, 'installed')
  if (!existsSync(installed)) {
    await rm(home, { recursive: true, force: true })
    if (!(await ensureTool('python3', ['python3', 'python3-venv']))) {
      return unprepared('there is no python3', 'apt-get could not install it')
    }
    say(`installing ${packages.join(' ')} with pip`)
    const made = await makeEnvironment(home)
    if (!made.ok) return unprepared('python3 -m venv failed', made.output)
    const args = ['-m', 'pip', 'install', '--quiet', ...packages]
    const pip = await runTool(join(bin, 'python'), args, { timeoutMs: 300_000 })
    if (!pip.ok) return unprepared(`pip could not install ${name}`, pip.output)
    await writeFile(installed, '')
  }
  return { ok: true, bin }
}

/** In Debian, venv is a separate package. */
async function makeEnvironment(home: string) {
  const make = () => runTool('python3', ['-m', 'venv', home], { timeoutMs: 120_000 })
  const made = await make()
  if (made.ok) return made
  await installDebian(['python3-venv'])
  return make()
}
