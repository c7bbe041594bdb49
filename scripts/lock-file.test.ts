import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lockProblems, type LockFile } from './lock-file.ts'

const integrity = 'sha512-0'

test.each(['package-lock.json', 'site/package-lock.json'])(
  '%s is complete for every platform and names no registry',
  (name) => {
    const file = new URL(`../${name}`, import.meta.url)
    expect(lockProblems(JSON.parse(readFileSync(file, 'utf8')) as LockFile)).toEqual([])
  },
)

test('a missing package of another platform is a problem', () => {
  const tool = { version: '1.0.0', integrity, optionalDependencies: { 'tool-darwin': '1.0.0' } }
  const packages = { 'node_modules/tool': tool }
  expect(lockProblems({ packages })).toEqual([
    'node_modules/tool: no entry for the optional dependency tool-darwin',
  ])
  expect(
    lockProblems({ packages: { ...packages, 'node_modules/tool-darwin': { integrity } } }),
  ).toEqual([])
  expect(
    lockProblems({
      packages: { ...packages, 'node_modules/tool/node_modules/tool-darwin': { integrity } },
    }),
  ).toEqual([])
})

test('a package without integrity, or with the address of a registry, is a problem', () => {
  const packages = {
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { integrity, resolved: 'https://registry.example/b.tgz' },
    'node_modules/c': { link: true, resolved: 'packages/c' },
  }
  expect(lockProblems({ packages })).toEqual([
    'node_modules/a: no integrity',
    'node_modules/b: names a registry',
  ])
})
