/**
 * Publishes every package, with provenance, each after those it depends on:
 *
 *     npm run release -- [--dry-run]
 *
 * It first checks versions, changelog, tag and working tree. It skips versions that the registry
 * already has, so an interrupted release can be run again. A dry run does everything but publish;
 * it ends with exit code 1 if the release would be refused. Provenance needs a service that signs
 * for the build: see .github/workflows/release.yml.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { npm } from './npm.ts'
import { packAll } from './pack-all.ts'
import { readManifest, repository } from './published-packages.ts'
import { distTagOf, releaseProblems } from './release-problems.ts'

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
const isDryRun = values['dry-run']

const root = readManifest(repository)
const packed = packAll(join(repository, 'dist'))
const problems = releaseProblems({
  root,
  packages: packed.map(({ manifest }) => manifest),
  changelog: readFileSync(join(repository, 'CHANGELOG.md'), 'utf8'),
  changedFiles: git('status', '--porcelain').map((line) => line.slice(3)),
  tags: git('tag', '--points-at', 'HEAD'),
  runsIn: process.env['GITHUB_REPOSITORY'],
})
for (const problem of problems) console.error(`release refused: ${problem}`)
if (problems.length > 0) {
  process.exitCode = 1
  if (!isDryRun) process.exit()
}

const tag = distTagOf(root.version)
for (const { manifest, tarball } of packed) {
  const id = `${manifest.name}@${manifest.version}`
  if (isPublished(id)) {
    console.log(`${id}: published before`)
    continue
  }
  const args = ['publish', tarball, '--provenance', '--access', 'public', '--tag', tag]
  npm(isDryRun ? [...args, '--dry-run'] : args, repository)
  console.log(`${id}: ${isDryRun ? 'would be published' : 'published'} from ${basename(tarball)}`)
}

function git(...args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: repository, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '')
}

function isPublished(id: string): boolean {
  try {
    return npm(['view', id, 'version'], repository).trim() !== ''
  } catch (error) {
    if (/E404/.test((error as Error).message)) return false
    throw error
  }
}
