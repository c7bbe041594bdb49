/**
 * Tests the packages as users get them: packed as for publication, installed into fresh projects,
 * measured, compiled against and run.
 *
 *     npm run test:package -- [--keep] [--only TEXT]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startServer } from '@zabra/server'
import { say } from '../src/tools.ts'
import { packAll } from '../../scripts/release/pack-all.ts'
import { embedded, javascript, typescript } from './consumers.ts'
import { facts } from './facts.ts'
import { attw } from './attw.ts'
import { command } from './command.ts'
import { contents } from './contents.ts'
import { executable } from './executable.ts'
import { FreshProject } from './fresh-project.ts'
import { report, runAll, type Check } from '../src/checks.ts'
import { publint } from './publint.ts'
import { otherRuntimes } from './runtimes.ts'
import { schedulersOf } from './schedulers.ts'

/** The oldest release with types for buffers, and the newest of each later line. */
const typescriptReleases = ['5.7', '5', '6', '7']
const megabyte = 1024 * 1024

const { values } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    /** Runs only the checks whose names contain this. */
    only: { type: 'string', default: '' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'zabra-package-'))
const server = await startServer()
try {
  const all = await checks()
  report(await runAll(all.filter(({ name }) => name.includes(values.only))))
} finally {
  await server.stop()
  if (values.keep) say(`kept: ${folder}`)
  else rmSync(folder, { recursive: true })
}

async function checks(): Promise<Check[]> {
  say('packing')
  const packed = packAll(join(folder, 'tarballs'))
  const tarballsOf = (...names: readonly string[]): string[] =>
    packed.filter(({ manifest }) => names.includes(manifest.name)).map(({ tarball }) => tarball)
  const clientParts = ['@zabra/protocol', '@zabra/client']
  const recipesParts = [...clientParts, '@zabra/recipes']
  const serverParts = ['@zabra/protocol', '@zabra/core', '@zabra/console', '@zabra/server']
  const testingParts = [...recipesParts, ...serverParts, '@zabra/simulator', '@zabra/testing']
  const recipes = tarballsOf(...recipesParts)
  const libraries = packed.filter(({ manifest }) => manifest.bin === undefined)

  const projectWith = async (name: string, tarballs: readonly string[]): Promise<FreshProject> => {
    const project = new FreshProject(folder, name)
    const { ok, output } = await project.install(...tarballs)
    if (!ok) throw new Error(output)
    return project
  }
  const withClient = await projectWith('with-client', tarballsOf(...clientParts))
  const withRecipes = await projectWith('with-recipes', recipes)
  const withServer = await projectWith('with-server', tarballsOf(...serverParts))
  const withCommand = await projectWith('with-command', tarballsOf('zabra'))
  let trees = 0
  const freshTree = (): string => `${server.connectString}/tree-${trees++}`
  const projectFor = (release: string) => () => new FreshProject(folder, `typescript-${release}`)
  return [
    ...facts('@zabra/client', withClient, { packages: clientParts, bytesMax: 1.5 * megabyte }),
    ...facts('@zabra/recipes', withRecipes, { packages: recipesParts, bytesMax: 3 * megabyte }),
    ...facts('@zabra/server', withServer, { packages: serverParts, bytesMax: 8 * megabyte }),
    ...command(withCommand, withRecipes, tarballsOf('zabra')[0]!),
    executable(withRecipes, folder),
    contents(packed, folder),
    publint(
      packed.map(({ tarball }) => tarball),
      new FreshProject(folder, 'publint'),
    ),
    attw(
      libraries.map(({ tarball }) => tarball),
      new FreshProject(folder, 'attw'),
    ),
    ...typescriptReleases.map((r) => typescript(r, projectFor(r), recipes, freshTree)),
    typescript('7', projectFor('7-testing'), tarballsOf(...testingParts), freshTree, {
      name: 'a program in a simulation',
      source: 'simulated.ts',
    }),
    javascript('mjs', withRecipes, freshTree),
    javascript('cjs', withRecipes, freshTree),
    ...otherRuntimes(new FreshProject(folder, 'runtimes'), recipes, freshTree),
    ...schedulersOf((name) => new FreshProject(folder, name), recipes, freshTree),
    embedded(
      await projectWith('with-server-and-client', tarballsOf(...serverParts, '@zabra/client')),
    ),
  ]
}
