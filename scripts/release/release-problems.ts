import { neededBy, type Manifest } from './published-packages.ts'

/** What a release is judged by. */
export interface ReleaseState {
  readonly root: Manifest
  readonly packages: readonly Manifest[]
  readonly changelog: string
  /** Files that differ from the commit. */
  readonly changedFiles: readonly string[]
  /** Tags of the commit. */
  readonly tags: readonly string[]
  /** owner/name of the repository that the release runs in, where that is known. */
  readonly runsIn: string | undefined
}

/** Why this state must not be published; empty when nothing stands against it. */
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

/** The tag of the registry under which a version is installed: `latest` is what users get. */
export function distTagOf(version: string): string {
  return version.includes('-') ? 'next' : 'latest'
}
