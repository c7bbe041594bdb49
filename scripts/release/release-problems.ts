import { neededBy, type Manifest } from './published-packages.ts'

/** The facts that decide whether a release may be published. */
export interface ReleaseState {
  readonly root: Manifest
  readonly packages: readonly Manifest[]
  readonly changelog: string
  /** Files with uncommitted changes. */
  readonly changedFiles: readonly string[]
  /** The tags of the commit. */
  readonly tags: readonly string[]
  /** owner/name of the repository that the release runs in, if known. */
  readonly runsIn: string | undefined
}

/** The reasons not to publish; empty if there are none. */
export function releaseProblems(state: ReleaseState): string[] {
  const { root, packages, changelog, changedFiles, tags, runsIn } = state
  const { version } = root
  const problems: string[] = []
  const names = new Set(packages.map(({ name }) => name))
  for (const one of packages) {
    if (one.version !== version)
      problems.push(`${one.name} has version ${one.version}, the repository ${version}`)
    for (const [name, range] of Object.entries(neededBy(one))) {
      if (names.has(name) && range.replace(/^[\^~]|^>=/, '') !== version)
        problems.push(`${one.name} wants ${name} ${range}, but ${version} is released`)
    }
  }
  const heading = new RegExp(`^## \\[?${version.replaceAll('.', '\\.')}\\]?\\b(.*)$`, 'm')
  const title = heading.exec(changelog)
  if (title === null) problems.push(`CHANGELOG.md has no section for ${version}`)
  else if (!/\d{4}-\d{2}-\d{2}/.test(title[1]!))
    problems.push(`CHANGELOG.md gives no date for ${version}: "${title[0]}"`)
  if (changedFiles.length > 0)
    problems.push(`there are changes that are not committed: ${changedFiles.join(', ')}`)
  if (!tags.includes(`v${version}`)) problems.push(`the commit has no tag v${version}`)
  const { url } = root['repository'] as { url: string }
  if (runsIn !== undefined && !url.endsWith(`/${runsIn}.git`))
    problems.push(`package.json names the repository ${url}, but this is ${runsIn}`)
  return problems
}

/** The registry's tag for a version; users install `latest`. */
export function distTagOf(version: string): string {
  return version.includes('-') ? 'next' : 'latest'
}
