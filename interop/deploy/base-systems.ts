import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { cacheDir } from '../src/apache.ts'
import { ensureTool, runTool, say } from '../src/tools.ts'

/** The id of the user "nonroot" in images of the distroless project. */
export const nonrootId = 65532

const home = join(cacheDir, 'deploy')

/** Replaces the base images of a Dockerfile; made from Debian and npm. */
export async function makeBase(image: string, root: string): Promise<void> {
  const build = /^node:(\d+)-(bookworm|trixie)-slim$/.exec(image)
  if (build !== null) return makeNodeImage(build[1]!, build[2]!, root)
  const distroless = /^gcr\.io\/distroless\/nodejs(\d+)-debian(12|13):nonroot$/.exec(image)
  if (distroless !== null)
    return makeDistroless(distroless[1]!, distroless[2] === '12' ? 'bookworm' : 'trixie', root)
  throw new Error(`no stand-in for the base image ${image}`)
}

/** Like node:NN-slim: Debian, with node and npm in /usr/local. */
async function makeNodeImage(release: string, debian: string, root: string): Promise<void> {
  mkdir(dirname(root))
  await must('cp', ['-a', await debianRoot(debian), root])
  const local = join(root, 'usr/local')
  copyFileSync(await nodeBinary(release), join(local, 'bin/node'))
  chmodSync(join(local, 'bin/node'), 0o755)
  const npmRoot = (await must('npm', ['root', '--global'])).trim().split('\n').at(-1)!
  await must('cp', ['-aL', join(npmRoot, 'npm'), mkdir(join(local, 'lib/node_modules'))])
  for (const tool of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${tool}-cli.js`, join(local, 'bin', tool))
  copyNetworkSettings(root)
}

/** Like distroless/nodejsNN: node and its libraries, no shell, no package manager. */
async function makeDistroless(release: string, debian: string, root: string): Promise<void> {
  const node = mkdir(join(root, 'nodejs/bin'))
  copyFileSync(await nodeBinary(release), join(node, 'node'))
  chmodSync(join(node, 'node'), 0o755)
  const system = await debianRoot(debian)
  const libraries = await must('ldd', [join(node, 'node')])
  for (const [, path] of libraries.matchAll(/(\/\S+\.so[\d.]*)/g)) {
    const file = realpathSync(join(system, 'usr', path!.replace(/^\/usr/, '')))
    copyFileSync(file, join(mkdir(join(root, dirname(path!))), basename(path!)))
  }
  for (const folder of ['proc', 'dev', 'home/nonroot', 'usr/local/bin']) mkdir(join(root, folder))
  chmodSync(mkdir(join(root, 'tmp')), 0o1777)
  const etc = mkdir(join(root, 'etc'))
  const ids = `${nonrootId}:${nonrootId}`
  writeFileSync(join(etc, 'passwd'), `nonroot:x:${ids}:nonroot:/home/nonroot:/sbin/nologin\n`)
  writeFileSync(join(etc, 'group'), `nonroot:x:${nonrootId}:\n`)
  writeFileSync(join(etc, 'hosts'), '127.0.0.1 localhost\n')
}

async function debianRoot(suite: string): Promise<string> {
  const root = join(home, suite)
  if (existsSync(join(root, 'etc/debian_version'))) return root
  if (!(await ensureTool('debootstrap', ['debootstrap']))) throw new Error('no debootstrap')
  say(`making a Debian ${suite} with debootstrap`)
  rmSync(root, { recursive: true, force: true })
  await must('debootstrap', ['--variant=minbase', suite, mkdir(root)])
  return root
}

/** The official binary of a release, from its npm package. */
async function nodeBinary(release: string): Promise<string> {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  const folder = join(home, `node-${release}`)
  const binary = join(folder, 'node_modules', `node-linux-${arch}`, 'bin/node')
  if (!existsSync(binary)) {
    say(`fetching Node ${release}`)
    mkdir(folder)
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const args = ['install', '--ignore-scripts', '--prefix', folder]
    await must('npm', [...args, `node-linux-${arch}@${release}`])
  }
  return binary
}

/** A build needs the registry, as on a machine with Docker. */
function copyNetworkSettings(root: string): void {
  for (const file of ['/etc/resolv.conf', '/etc/ssl/certs/ca-certificates.crt']) {
    if (!existsSync(file)) continue
    const target = join(root, file)
    rmSync(target, { force: true })
    mkdir(dirname(target))
    copyFileSync(file, target)
  }
}

export function mkdir(path: string): string {
  mkdirSync(path, { recursive: true })
  return path
}

/** The output of a program that must succeed. */
export async function must(
  command: string,
  args: readonly string[],
  options: Parameters<typeof runTool>[2] = {},
): Promise<string> {
  const { ok, output } = await runTool(command, args, { timeoutMs: 480_000, ...options })
  if (!ok) throw new Error(`${command} ${args.join(' ')}:\n${output.slice(-4000)}`)
  return output
}
