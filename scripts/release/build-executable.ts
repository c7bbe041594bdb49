import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { repository } from './published-packages.ts'

/** Node.js looks for this text in its own file to find out that it contains a program. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/**
 * The modules that use their own location. An executable has none: `version.js` gets its
 * package.json embedded, and the command starts no worker of the client.
 */
const modulesWithPlace = new Set(['version.js', 'worker-link.js'])

/** Writes the executable; returns its size. */
export async function buildExecutable(out: string): Promise<number> {
  if (!readFileSync(process.execPath).includes(`${fuse}:0`))
    throw new Error(`${process.execPath} cannot hold a program: take Node.js from nodejs.org`)
  const scratch = mkdtempSync(join(tmpdir(), 'zabra-executable-'))
  try {
    const main = join(scratch, 'zabra.cjs')
    await bundle(main)
    const blob = join(scratch, 'zabra.blob')
    const config = join(scratch, 'config.json')
    const settings = { main, output: blob, disableExperimentalSEAWarning: true, useCodeCache: true }
    writeFileSync(config, JSON.stringify(settings))
    run(process.execPath, ['--experimental-sea-config', config])
    copyFileSync(process.execPath, out)
    const isMac = process.platform === 'darwin'
    if (isMac) run('codesign', ['--remove-signature', out])
    const postject = join(repository, 'node_modules/postject/dist/cli.js')
    const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : []
    const target = [out, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse, ...segment]
    run(process.execPath, [postject, ...target])
    if (isMac) run('codesign', ['--sign', '-', out])
    return statSync(out).size
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

/** One CommonJS file: an executable of Node.js 20 can contain nothing else. */
async function bundle(outfile: string): Promise<void> {
  const command = join(repository, 'packages/cli')
  const { metafile } = await build({
    stdin: {
      contents: `
        import { main } from './dist/index.js'
        main(process.argv.slice(2)).then((code) => process.exit(code))`,
      resolveDir: command,
    },
    outfile,
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    // Code from the cache of an executable may not import, not even a module of Node.js.
    supported: { 'dynamic-import': false },
    logLevel: 'warning',
    absWorkingDir: repository,
    define: { 'import.meta.url': '"file:///zabra/a/b/c.js"' },
    plugins: [embedManifest(join(command, 'package.json'))],
  })
  const placed = Object.keys(metafile.inputs).filter(
    (file) =>
      file.startsWith('packages/') &&
      !modulesWithPlace.has(basename(file)) &&
      readFileSync(join(repository, file), 'utf8').includes('import.meta'),
  )
  if (placed.length > 0)
    throw new Error(
      `an executable has no place for the files that these look for: ${placed.join()}`,
    )
}

/** `version.js` reads the package.json of the command, whatever path it computes. */
function embedManifest(file: string): Plugin {
  const namespace = 'embedded-manifest'
  return {
    name: namespace,
    setup(bundling) {
      bundling.onResolve({ filter: /^node:fs$/ }, ({ path, importer }) =>
        basename(importer) === 'version.js' ? { path, namespace } : undefined,
      )
      bundling.onLoad({ filter: /.*/, namespace }, () => {
        const text = JSON.stringify(readFileSync(file, 'utf8'))
        return { contents: `export const readFileSync = () => ${text}` }
      })
    },
  }
}

function run(command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`}`)
}
