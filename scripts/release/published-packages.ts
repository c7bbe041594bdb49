import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const repository = join(import.meta.dirname, '../..')

/** The parts of a package.json that a release reads or changes. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [key: string]: unknown
}

export interface PublishedPackage {
  /** The name of its folder in packages/. */
  readonly folder: string
  readonly manifest: Manifest
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/**
 * Every package that is not private, each after the packages of this repository that it depends on.
 */
export function publishedPackages(): PublishedPackage[] {
  const all = readdirSync(join(repository, 'packages'))
    .map((folder) => ({ folder, manifest: readManifest(join(repository, 'packages', folder)) }))
    .filter(({ manifest }) => manifest.private !== true)
  return inDependencyOrder(all)
}

export function inDependencyOrder(packages: readonly PublishedPackage[]): PublishedPackage[] {
  const byName = new Map(packages.map((one) => [one.manifest.name, one]))
  const ordered = new Set<PublishedPackage>()
  const visit = (one: PublishedPackage, dependents: readonly string[]): void => {
    const { name } = one.manifest
    if (dependents.includes(name))
      throw new Error(`packages depend on each other: ${[...dependents, name].join(' -> ')}`)
    for (const dependency of Object.keys(neededBy(one.manifest))) {
      const other = byName.get(dependency)
      if (other !== undefined) visit(other, [...dependents, name])
    }
    ordered.add(one)
  }
  for (const one of packages) visit(one, [])
  return [...ordered]
}

/** The packages that it needs at run time, with their version ranges. */
export function neededBy(manifest: Manifest): Readonly<Record<string, string>> {
  return { ...manifest.dependencies, ...manifest.peerDependencies }
}
