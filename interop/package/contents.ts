import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from '../../scripts/release/pack-all.ts'
import { repository } from '../../scripts/release/published-packages.ts'
import { runTool } from '../src/tools.ts'
import { failed, ok, type Check } from '../src/checks.ts'

const everyPackageHas = ['LICENSE', 'README.md', 'package.json']
const addresses = ['repository', 'homepage', 'bugs', 'license', 'description', 'engines']

/** Each tarball has what users expect, and nothing internal. */
export function contents(packed: readonly PackedPackage[], folder: string): Check {
  return {
    name: 'what the tarballs hold',
    run: async () => {
      const problems: string[] = []
      let files = 0
      for (const { manifest, tarball } of packed) {
        const into = join(folder, 'unpacked', manifest.name.replaceAll('/', '-'))
        mkdirSync(into, { recursive: true })
        const unpacked = await runTool('tar', ['-xzf', tarball, '-C', into])
        if (!unpacked.ok) return failed(unpacked.output)
        const found = readdirSync(join(into, 'package'), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
        files += found.length
        problems.push(...problemsOf(manifest.name, join(into, 'package'), found))
      }
      const fact = `${packed.length} packages, ${files} files`
      return problems.length === 0 ? ok(fact) : failed(problems.join('\n'))
    },
  }
}

function problemsOf(name: string, folder: string, files: readonly string[]): string[] {
  const names = files.map((file) => file.slice(folder.length + 1))
  const published = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object
  const readme = readFileSync(join(folder, 'README.md'), 'utf8')
  return [
    ...everyPackageHas.filter((file) => !names.includes(file)).map((file) => `no ${file}`),
    ...addresses.filter((key) => !(key in published)).map((key) => `no ${key} in package.json`),
    ...['scripts', 'devDependencies']
      .filter((key) => key in published)
      .map((key) => `${key} in package.json`),
    ...names.filter((file) => /\.test\.|testdata/.test(file)).map((file) => `a test: ${file}`),
    ...[...readme.matchAll(/\]\((?![a-z]+:|#)([^)]*)\)/g)].map(
      ([, link]) => `a link that leads nowhere outside the repository: ${link}`,
    ),
    ...files
      .filter((file) => readFileSync(file, 'utf8').includes(repository))
      .map((file) => `a path of this machine in ${file.slice(folder.length + 1)}`),
  ].map((problem) => `${name}: ${problem}`)
}
