import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bundledPackages, commandManifest, packagesImported } from './bundled-command.ts'
import { inDependencyOrder, repository, type Manifest } from './published-packages.ts'
import { absoluteLinks } from './readme-links.ts'
import { distTagOf, releaseProblems, type ReleaseState } from './release-problems.ts'

const manifest = (name: string, rest: Partial<Manifest> = {}): Manifest => ({
  name,
  version: '1.2.3',
  ...rest,
})
const namesOf = (...manifests: readonly Manifest[]): string[] =>
  inDependencyOrder(manifests.map((one) => ({ folder: one.name, manifest: one }))).map(
    ({ folder }) => folder,
  )

test('a package comes after those it depends on, peers included', () => {
  const order = namesOf(
    manifest('recipes', { peerDependencies: { client: '^1.2.3' } }),
    manifest('client', { dependencies: { protocol: '1.2.3', elsewhere: '^9.0.0' } }),
    manifest('protocol'),
  )
  expect(order).toEqual(['protocol', 'client', 'recipes'])
})

test('packages that depend on each other are refused', () => {
  const a = manifest('a', { dependencies: { b: '1.2.3' } })
  const b = manifest('b', { dependencies: { a: '1.2.3' } })
  expect(() => namesOf(a, b)).toThrow('a -> b -> a')
})

const context = {
  repository,
  folder: 'packages/client',
  repositoryUrl: 'https://example.com/zabra',
  tag: 'v1.2.3',
}

test('links of a README lead to the files of the release', () => {
  expect(absoluteLinks('[a](../../README.md#run-it), [b](package.json)', context)).toBe(
    '[a](https://example.com/zabra/blob/v1.2.3/README.md#run-it), ' +
      '[b](https://example.com/zabra/blob/v1.2.3/packages/client/package.json)',
  )
  const others = '[c](https://example.com/), [d](#here), [e](mailto:a@example.com)'
  expect(absoluteLinks(others, context)).toBe(others)
})

test('a link of a README that leads nowhere is an error', () => {
  expect(() => absoluteLinks('[a](../../docs/nothing.md)', context)).toThrow('docs/nothing.md')
  expect(() => absoluteLinks('[a](../../../elsewhere.md)', context)).toThrow('elsewhere.md')
})

test('the imports of a bundle are found, without Node and its own chunks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const entry = join(folder, 'entry.js')
  writeFileSync(join(folder, 'chunk.js'), 'import "inner"\nexport const a = 1\n')
  const module = [
    `import { readFileSync } from "node:fs"`,
    `import fs from "fs"`,
    `import { a } from "./chunk.js"`,
    `export * from "@scope/name/deep"`,
    `export const lazy = () => import("later/part.js")`,
    `export const text = 'import "nothing here"'`,
    `export const words = { import: "Make nodes from a file" }`,
  ].join('\n')
  writeFileSync(entry, module)
  expect(packagesImported([entry])).toEqual(['@scope/name', 'inner', 'later'])
})

test('the content of a bundle is found by the comments of esbuild', () => {
  const module = '// ../../node_modules/yaml/dist/index.js\nx\n  // node_modules/@a/b/c.js\n'
  expect(bundledPackages(module)).toEqual(['yaml', '@a/b'])
})

test('the published command depends only on what its bundle does not contain', () => {
  const source = manifest('zabra', { dependencies: { inside: '1.2.3', outside: '4.5.6' } })
  const bundle = { files: [], imports: ['outside'], contains: new Map() }
  expect(commandManifest(source, bundle).dependencies).toEqual({ outside: '4.5.6' })
  expect(() => commandManifest(source, { ...bundle, imports: ['unknown'] })).toThrow('unknown')
})

const good: ReleaseState = {
  root: manifest('root', { repository: { url: 'git+https://example.com/a/zabra.git' } }),
  packages: [
    manifest('protocol'),
    manifest('client', { dependencies: { protocol: '1.2.3' } }),
    manifest('recipes', { peerDependencies: { client: '^1.2.3' } }),
  ],
  changelog: '# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-31)\n\n## 1.2.2 (2026-01-01)\n',
  changedFiles: [],
  tags: ['v1.2.3'],
  runsIn: 'a/zabra',
}

test('nothing stands against a release that is complete', () => {
  expect(releaseProblems(good)).toEqual([])
})

test.each<[string, Partial<ReleaseState>, string]>([
  ['another version', { packages: [manifest('a', { version: '1.2.2' })] }, 'a has version 1.2.2'],
  [
    'a dependency on another version',
    { packages: [manifest('a'), manifest('b', { dependencies: { a: '1.2.2' } })] },
    'b wants a 1.2.2',
  ],
  ['no section in the changelog', { changelog: '## 1.2.30 (2026-01-31)\n' }, 'no section'],
  ['no date in the changelog', { changelog: '## 1.2.3 (unreleased)\n' }, 'no date'],
  ['changes', { changedFiles: ['a.ts'] }, 'not committed: a.ts'],
  ['no tag', { tags: ['v1.2.2'] }, 'no tag v1.2.3'],
  ['another repository', { runsIn: 'b/zabra' }, 'this is b/zabra'],
])('a release is refused for %s', (_, change, problem) => {
  expect(releaseProblems({ ...good, ...change })).toEqual([expect.stringContaining(problem)])
})

test('a prerelease does not become the version that users install', () => {
  expect([distTagOf('1.2.3'), distTagOf('1.2.3-rc.1')]).toEqual(['latest', 'next'])
})
