import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unprepared, type UnpreparedClient } from '../../clients/client.ts'
import { cacheDir } from '../../src/apache.ts'
import { runTool, say } from '../../src/tools.ts'

export interface Unpacked {
  readonly ok: true
  /** Used as `/` of the packages. */
  readonly root: string
  /** The version of the first package, without Debian's suffix. */
  readonly version: string
  /** Includes the libraries of the packages. */
  readonly env: NodeJS.ProcessEnv
}

/**
 * Unpacks Debian packages and their missing dependencies into the cache. Nothing is installed: no
 * service is started, no user is created, and root is not needed.
 */
export async function unpackDebian(
  name: string,
  packages: readonly string[],
): Promise<Unpacked | UnpreparedClient> {
  const home = join(cacheDir, `debian-${name}`)
  if (!existsSync(home)) {
    say(`fetching ${packages.join(' ')} with apt-get`)
    const failure = await download(home, packages)
    if (failure !== undefined) return unprepared(`apt-get could not bring ${name}`, failure)
  }
  const version = (await readFile(join(home, 'version'), 'utf8')).trim()
  const root = join(home, 'root')
  const folders = ['usr/lib', 'lib'].flatMap((folder) => {
    return [join(root, folder), join(root, folder, multiarch)]
  })
  const inherited = process.env['LD_LIBRARY_PATH']
  const libraries = inherited === undefined ? folders : [...folders, inherited]
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') }
  return { ok: true, root, version, env }
}

const multiarch = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'

async function download(home: string, packages: readonly string[]): Promise<string | undefined> {
  await mkdir(cacheDir, { recursive: true })
  const draft = await mkdtemp(join(cacheDir, 'draft-'))
  try {
    const all = await withDependencies(packages)
    if (!all.ok) return all.output
    const fetched = await runTool('apt-get', ['download', ...all.names], {
      timeoutMs: 300_000,
      cwd: draft,
    })
    if (!fetched.ok) return fetched.output
    const files = await readdir(draft)
    for (const file of files) {
      const unpacked = await runTool('dpkg', ['-x', join(draft, file), join(draft, 'root')])
      if (!unpacked.ok) return unpacked.output
    }
    const first = files.find((file) => file.startsWith(`${packages[0]}_`)) ?? ''
    const version = /_(?:\d+%3a)?([\d.]+)/.exec(first)?.[1] ?? 'unknown'
    await writeFile(join(draft, 'version'), `${version}\n`)
    await Promise.all(files.map((file) => rm(join(draft, file))))
    await rename(draft, home)
    return undefined
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The packages that apt-get would install, according to a simulated run. */
async function withDependencies(packages: readonly string[]) {
  const args = ['-s', 'install', '--reinstall', '--no-install-recommends', ...packages]
  let plan = await runTool('apt-get', args)
  if (!plan.ok) {
    // The package lists of a fresh container are empty or outdated.
    await runTool('apt-get', ['update'], { timeoutMs: 120_000 })
    plan = await runTool('apt-get', args)
  }
  const names = Array.from(plan.output.matchAll(/^Inst (\S+)/gm), ([, each = '']) => each)
  return { ok: plan.ok, output: plan.output, names }
}
