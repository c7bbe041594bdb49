/** The parts of package-lock.json, version 3, that this project checks. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  /** Whether it is a workspace, whose files are in this repository. */
  readonly link?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * Why `npm ci` could fail on another platform, or install something unchecked.
 *
 * npm leaves the packages of other platforms out of the lock file when the registry does not have
 * them, or when it starts from a node_modules folder that lacks them. `npm ci` then fails everywhere.
 */
export function lockProblems({ packages }: LockFile): string[] {
  const problems: string[] = []
  for (const [path, locked] of Object.entries(packages)) {
    for (const name of Object.keys(locked.optionalDependencies ?? {})) {
      if (find(packages, path, name) === undefined)
        problems.push(`${path}: no entry for the optional dependency ${name}`)
    }
    if (!path.includes('node_modules/') || locked.link === true) continue
    if (locked.integrity === undefined) problems.push(`${path}: no integrity`)
    if (locked.resolved !== undefined) problems.push(`${path}: names a registry`)
  }
  return problems
}

/** Looks a package up the way Node does: in this package's node_modules, then in those above. */
function find(
  packages: LockFile['packages'],
  from: string,
  name: string,
): LockedPackage | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const found =
      packages[folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`]
    if (found !== undefined || folder === '') return found
  }
}
