/**
 * The packages as a stranger gets them: packed as for publication, installed into fresh projects,
 * measured, compiled against and run.
 *
 *     npm run test:package -- [--keep]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startServer } from '@zabra/server'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { javascript, typescript } from './consumers.ts'
import { facts } from './facts.ts'
import { FreshProject, pack } from './fresh-project.ts'
import { failed, type Check, type Outcome } from './outcome.ts'
import { publint } from './publint.ts'

/** The oldest that knows the types of buffers, and the newest of each later line. */
const typescriptReleases = ['5.7', '5', '6', '7']
const megabyte = 1024 * 1024

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })

const folder = mkdtempSync(join(tmpdir(), 'zabra-package-'))
const server = await startServer()
try {
  report(await runAll(await checks()))
} finally {
  await server.stop()
  if (values.keep) say(`kept: ${folder}`)
  else rmSync(folder, { recursive: true })
}

async function checks(): Promise<Check[]> {
  const protocol = await pack('protocol', folder)
  const client = await pack('client', folder)
  const recipes = await pack('recipes', folder)
  const all = [protocol, client, recipes]

  const withClient = new FreshProject(folder, 'with-client')
  const withRecipes = new FreshProject(folder, 'with-recipes')
  for (const [project, tarballs] of [
    [withClient, [protocol, client]],
    [withRecipes, all],
  ] as const) {
    const { ok, output } = await project.install(...tarballs)
    if (!ok) throw new Error(output)
  }
  let trees = 0
  const freshTree = (): string => `${server.connectString}/tree-${trees++}`
  const projectFor = (release: string) => () => new FreshProject(folder, `typescript-${release}`)
  return [
    ...facts('@zabra/client', withClient, {
      packages: ['@zabra/client', '@zabra/protocol'],
      bytesMax: megabyte,
    }),
    ...facts('@zabra/recipes', withRecipes, {
      packages: ['@zabra/client', '@zabra/protocol', '@zabra/recipes'],
      bytesMax: 2 * megabyte,
    }),
    publint(all, new FreshProject(folder, 'publint')),
    ...typescriptReleases.map((r) => typescript(r, projectFor(r), all, freshTree)),
    javascript('mjs', withRecipes, freshTree),
    javascript('cjs', withRecipes, freshTree),
  ]
}

async function runAll(all: readonly Check[]): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  for (const check of all) {
    say(check.name)
    outcomes.set(check.name, await check.run().catch((error: unknown) => failed(String(error))))
  }
  return outcomes
}

function report(outcomes: ReadonlyMap<string, Outcome>): void {
  const words = { ok: 'ok', failed: 'FAIL', notRun: 'NOT RUN' } as const
  const rows = [...outcomes].map(([name, outcome]) => [
    name,
    words[outcome.kind],
    outcome.kind === 'ok' ? outcome.fact : '',
  ])
  console.log(`\n${textTable(rows)}\n`)
  for (const [name, outcome] of outcomes) {
    if (outcome.kind === 'failed') console.log(`FAILED ${name}\n${outcome.why}\n`)
    if (outcome.kind === 'notRun') console.log(`!!! NOT RUN ${name}: ${outcome.why}\n`)
  }
  const count = (kind: Outcome['kind']): number =>
    [...outcomes.values()].filter((outcome) => outcome.kind === kind).length
  if (count('notRun') > 0)
    console.log(`!!! ${count('notRun')} of ${outcomes.size} checks could NOT be run, see above`)
  console.log(`${count('ok')} passed, ${count('failed')} failed`)
  process.exitCode = count('failed') > 0 || count('ok') === 0 ? 1 : 0
}
