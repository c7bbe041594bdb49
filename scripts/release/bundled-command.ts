import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { readManifest, repository, type Manifest } from './published-packages.ts'

/** The folder of the bundle, relative to packages/cli. */
export const bundleFolder = 'dist/bundle'

export interface BundledCommand {
  /** Relative to the folder of the bundle. */
  readonly files: readonly string[]
  /** Packages that the bundle imports at run time: they must be installed with it. */
  readonly imports: readonly string[]
  /** Packages of other projects in the bundle, by name. */
  readonly contains: ReadonlyMap<string, BundledPackage>
}

export interface BundledPackage {
  readonly version: string
  readonly licenseText: string
}

/** Finds out from the built files what the bundle of the command consists of. */
export function readBundledCommand(commandFolder: string): BundledCommand {
  const folder = join(commandFolder, bundleFolder)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .toSorted()
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => join(folder, file))
  const texts = scripts.map((file) => readFileSync(file, 'utf8'))
  const names = [...new Set(texts.flatMap(bundledPackages))].toSorted((a, b) => (a < b ? -1 : 1))
  return {
    files,
    imports: packagesImported(scripts),
    contains: new Map(names.map((name) => [name, describe(name, commandFolder)])),
  }
}

/** The packages that modules import, statically or dynamically, except Node's own. */
export function packagesImported(modules: readonly string[]): string[] {
  const { metafile } = buildSync({
    entryPoints: [...modules],
    outdir: 'nowhere',
    write: false,
    metafile: true,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  const specifiers = Object.values(metafile.inputs)
    .flatMap(({ imports }) => imports.filter(({ external }) => external === true))
    .map(({ path }) => path)
    // `<runtime>` stands for esbuild's own helpers.
    .filter((specifier) => !isBuiltin(specifier) && specifier !== '<runtime>')
  return [...new Set(specifiers.map(packageOf))].toSorted()
}

/** esbuild writes the path of each included module into a comment. */
export function bundledPackages(module: string): string[] {
  const comments = module.matchAll(/^\s*\/\/ \S*node_modules\/(\S+)$/gm)
  return [...comments].map(([, path]) => packageOf(path!))
}

function packageOf(specifier: string): string {
  const [first, second] = specifier.split('/')
  return first!.startsWith('@') ? `${first}/${second}` : first!
}

function describe(name: string, commandFolder: string): BundledPackage {
  const folder = [commandFolder, repository]
    .map((base) => join(base, 'node_modules', name))
    .find((candidate) => existsSync(candidate))
  if (folder === undefined) throw new Error(`the command contains ${name}, which is not installed`)
  const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
  if (license === undefined) throw new Error(`the command contains ${name}, which has no license`)
  const { version } = readManifest(folder)
  return { version, licenseText: readFileSync(join(folder, license), 'utf8') }
}

/** The manifest of the published command: it depends on what its bundle does not contain. */
export function commandManifest(manifest: Manifest, { imports }: BundledCommand): Manifest {
  const { exports: _, devDependencies: __, ...rest } = manifest
  const wanted = manifest.dependencies ?? {}
  const missing = imports.filter((name) => wanted[name] === undefined)
  if (missing.length > 0)
    throw new Error(`the command imports ${missing.join(', ')}, which it does not depend on`)
  const dependencies = Object.fromEntries(imports.map((name) => [name, wanted[name]!]))
  return { ...rest, dependencies }
}
