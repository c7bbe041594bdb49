import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  bundleFolder,
  commandManifest,
  readBundledCommand,
  type BundledCommand,
} from './bundled-command.ts'
import { npm } from './npm.ts'
import {
  readManifest,
  repository,
  type Manifest,
  type PublishedPackage,
} from './published-packages.ts'
import { absoluteLinks } from './readme-links.ts'

/**
 * Assembles a package as it is published in a separate folder: the files that package.json names,
 * without tests, and the repository's addresses in package.json and README.
 */
export function stage({ folder, manifest }: PublishedPackage, into: string): void {
  const source = join(repository, 'packages', folder)
  const root = readManifest(repository)
  const { homepage, bugs } = root
  const addresses = {
    homepage,
    bugs,
    repository: { ...(root['repository'] as object), directory: `packages/${folder}` },
  }
  const isCommand = manifest.bin !== undefined
  const staged = isCommand
    ? stageCommand(manifest, source, into)
    : stageLibrary(manifest, source, into)
  writeJson(join(into, 'package.json'), { ...staged, ...addresses })

  copy('LICENSE', source, into)
  const readme = join(source, 'README.md')
  if (!existsSync(readme)) throw new Error(`packages/${folder} has no README.md`)
  const text = absoluteLinks(readFileSync(readme, 'utf8'), {
    repository,
    folder: `packages/${folder}`,
    repositoryUrl: repositoryUrl(root),
    tag: `v${manifest.version}`,
  })
  writeFileSync(join(into, 'README.md'), text)
}

const isForTests = /\.test\.|\/testdata\//

function stageLibrary(manifest: Manifest, source: string, into: string): Manifest {
  for (const file of filesOf(source)) {
    const isRewritten = file === 'package.json' || file === 'README.md'
    if (!isRewritten && !isForTests.test(file) && !isLeftOver(file, manifest, source))
      copy(file, source, into)
  }
  const { devDependencies: _, scripts: __, ...published } = manifest
  return published
}

/**
 * Whether a file is left over: the compiler does not remove the output of deleted sources. A file
 * that the manifest exports never is, because other tools make such files.
 */
function isLeftOver(file: string, manifest: Manifest, source: string): boolean {
  if (JSON.stringify(manifest['exports'] ?? {}).includes(`"./${file}"`)) return false
  const compiled = /^dist\/(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(file)
  return compiled !== null && !existsSync(join(source, 'src', `${compiled[1]}.ts`))
}

/** The command is its bundle: nothing else must be installed or loaded. */
function stageCommand(manifest: Manifest, source: string, into: string): Manifest {
  const bundle = readBundledCommand(source)
  for (const file of bundle.files) copy(`${bundleFolder}/${file}`, source, into)
  for (const file of Object.values(manifest.bin!)) {
    copy(file, source, into)
    chmodSync(join(into, file), 0o755)
  }
  if (bundle.contains.size > 0)
    writeFileSync(join(into, 'THIRD-PARTY-LICENSES'), licensesOf(bundle))
  const { files: _, scripts: __, ...published } = commandManifest(manifest, bundle)
  return published
}

function licensesOf({ contains }: BundledCommand): string {
  const sections = [...contains].map(
    ([name, { version, licenseText }]) => `${name} ${version}\n\n${licenseText.trim()}\n`,
  )
  return `This command contains the following packages.\n\n${sections.join('\n---\n\n')}`
}

/** The files that npm would pack. */
function filesOf(source: string): string[] {
  const [listing] = JSON.parse(
    npm(['pack', '--dry-run', '--json', '--ignore-scripts'], source),
  ) as [{ files: { path: string }[] }]
  return listing.files.map(({ path }) => path)
}

function repositoryUrl(root: Manifest): string {
  const { url } = root['repository'] as { url: string }
  return url.replace(/^git\+/, '').replace(/\.git$/, '')
}

function copy(file: string, source: string, into: string): void {
  mkdirSync(dirname(join(into, file)), { recursive: true })
  copyFileSync(join(source, file), join(into, file))
}

function writeJson(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}
