import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { documentedIn, examplePackages, type SourceExample } from './source-examples.ts'

const root = join(import.meta.dirname, '..', '..')
/** In the workspace, so that imports are resolved as in a program of a reader. */
const folder = join(import.meta.dirname, '.examples')

const entryPoints = {
  client: ['@zabra/client', '@zabra/client/opentelemetry'],
  recipes: ['@zabra/recipes', '@zabra/recipes/schedulers'],
  testing: ['@zabra/testing'],
} as const

/** Classes whose methods all have an example. */
const classes = ['Client', 'Transaction', 'Ensemble', 'TestServer', 'Faults', 'FaultProxy'] as const
/** Not for programs: they are called by other parts of the package. */
const internal = new Set(['Ensemble.start', 'TestServer.endSession'])
/** Its documentation is in `@zabra/protocol`. */
const elsewhere = new Set(['permissions'])

const documented = examplePackages.flatMap((name) => documentedIn(root, name))
const named = new Set(
  documented.filter(({ examples }) => examples.length > 0).map(({ name }) => name),
)

describe('every export that a program uses has an example in its doc comment', () => {
  test.each(examplePackages)('of @zabra/%s', async (name) => {
    const modules = await Promise.all(
      entryPoints[name].map((entry): Promise<object> => import(entry)),
    )
    const exported = modules.flatMap((module) => Object.keys(module))
    expect(exported.length).toBeGreaterThan(5)
    const lacking = exported.filter((one) => !named.has(one) && !elsewhere.has(one))
    expect(lacking).toEqual([])
  })

  test.each(classes)('and every method of %s', (owner) => {
    const methods = documented.filter(({ name }) => name.startsWith(`${owner}.`))
    expect(methods.length).toBeGreaterThan(2)
    const lacking = methods
      .filter(({ name, isMethod }) => isMethod && !named.has(name) && !internal.has(name))
      .map(({ name }) => name)
    expect(lacking).toEqual([])
  })
})

const examples = documented.flatMap((one) => one.examples)
const imported = ['client', 'recipes', 'testing'].map((name) => `@zabra/${name}`)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every example compiles', async () => {
  expect(examples.length).toBeGreaterThan(100)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const namesOf = new Map<string, readonly string[]>()
  for (const entry of [...imported, '@zabra/recipes/schedulers', '@zabra/client/opentelemetry'])
    namesOf.set(entry, Object.keys((await import(entry)) as object))
  examples.forEach((example, index) => {
    writeFileSync(join(folder, `example-${index}.ts`), moduleOf(example, namesOf))
  })
  writeFileSync(join(folder, 'world.d.ts'), world)
  writeFileSync(join(folder, 'opentelemetry.d.ts'), opentelemetry)
  const compilerOptions = {
    composite: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    types: ['node'],
    customConditions: ['@zabra/source'],
    experimentalDecorators: true,
    erasableSyntaxOnly: false,
  }
  const config = { extends: '../../../tsconfig.base.json', compilerOptions, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  const where = (_: string, index: string): string => {
    const { file, line } = examples[Number(index)]!
    return `${file}:${line}`
  }
  expect(stdout.replaceAll(/[^\s]*example-(\d+)\.ts/g, where)).toBe('')
  expect(status).toBe(0)
})

/** As a module of its own, in a function that may be left early, with the names of ours imported. */
function moduleOf(
  { code }: SourceExample,
  namesOf: ReadonlyMap<string, readonly string[]>,
): string {
  const isOwn = (name: string): boolean =>
    new RegExp(`\\b${name}\\b`).test(code) &&
    !new RegExp(`\\b(?:const|function|class) \\{?[^=]*\\b${name}\\b[^=]*=`).test(code)
  const imports = /^import /m.test(code)
    ? []
    : [...namesOf].flatMap(([entry, names]) => {
        const used = names.filter(isOwn)
        return used.length === 0 ? [] : [`import { ${used.join(', ')} } from '${entry}'`]
      })
  const [head, body] = /^import /m.test(code) ? splitImports(code) : ['', code]
  const inside = body.startsWith('@') ? `class Tasks {\n  coordinator = undefined\n${body}}` : body
  return [...imports, head, 'export async function example() {', inside, '}', ''].join('\n')
}

function splitImports(code: string): [string, string] {
  const lines = code.split('\n')
  const isImport = (line: string): boolean => line.startsWith('import ')
  return [lines.filter(isImport).join('\n'), lines.filter((line) => !isImport(line)).join('\n')]
}

/** What examples take for granted: a client, something held, and work of the reader's own. */
const world = `
import type { Acl, Client, Stat, Transaction } from '@zabra/client'
import type { Election, Held, Lock, ServiceInstance } from '@zabra/recipes'
import type { LeaderCoordinator } from '@zabra/recipes/schedulers'
import type { Ensemble, FaultProxy, TestServer } from '@zabra/testing'

declare global {
  const client: Client
  const servers: string
  const error: unknown
  const stat: Stat
  const more: readonly Acl[]
  const id: string
  const signal: AbortSignal
  const shuttingDown: AbortSignal
  const held: Held
  const lock: Lock
  const election: Election
  const permit: Held
  const instance: ServiceInstance
  const coordinator: LeaderCoordinator
  const ensemble: Ensemble
  const server: TestServer
  const proxy: FaultProxy
  const mail: Mail
  const limiter: { setRate(rate: number): void }
  const registry: { addCronJob(name: string, job: CronJob): void }
  class CronJob { constructor(time: string, job: () => unknown) }
  function Cron(time: string): MethodDecorator
  interface Settings { readonly limit: number }
  interface Reminder { readonly to: string }
  interface Mail { readonly subject: string }
  interface Transfer { readonly amount: number }
  const pathOfTheLock: string
  const scenario: Parameters<typeof import('@zabra/testing').simulate>[1]
  const trace: typeof import('@opentelemetry/api').trace
  const metrics: typeof import('@opentelemetry/api').metrics
  const readFile: typeof import('node:fs/promises').readFile
  const writeFile: typeof import('node:fs/promises').writeFile
  function nextStep(): Transaction
  function schedule(...args: readonly unknown[]): Promise<void>
  function again(): Promise<void>
  function stopWriting(): void
  function backUp(): Promise<void>
  function work(...args: readonly unknown[]): Promise<void>
  function compute(): Promise<void>
  function print(options: { signal: AbortSignal }): Promise<void>
  function download(options: { signal: AbortSignal }): Promise<void>
  function crawl(items: readonly string[], signal: AbortSignal): Promise<void>
  function transfer(held: Held): Promise<void>
  function canCarryOut(transfer: Transfer): boolean
}
`

/** Not installed here. The types are those that the client takes. */
const opentelemetry = `
declare module '@opentelemetry/api' {
  import type { MeterLike, TracerLike } from '@zabra/client/opentelemetry'
  export const trace: { getTracer(name: string): TracerLike }
  export const metrics: { getMeter(name: string): MeterLike }
}
`
