import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRefusal, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { startEnsemble, startProxy, type Ensemble } from '@zabra/testing'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  beforehand,
  endless,
  makers,
  meanwhile,
  plant,
  refused,
  type Given,
  type World,
} from './example-world.ts'
import { documentedIn, examplePackages, type SourceExample } from './source-examples.ts'

const root = join(import.meta.dirname, '..', '..')
/** In the workspace, so that imports are resolved as in a program of a reader. */
const folder = join(import.meta.dirname, '.examples')

const entryPoints = {
  client: ['@zabra/client', '@zabra/client/opentelemetry'],
  recipes: ['@zabra/recipes', '@zabra/recipes/schedulers'],
  testing: ['@zabra/testing'],
} as const

/** Classes and interfaces whose methods all have an example. */
const owners = `
  Client Transaction Watching Histogram
  Held Live TurnLock Semaphore SimpleLock MultiLock Lease Election
  ReadWriteLock RevocableSide RevocableHeld SetPartitioner SessionHandOver
  Barrier DoubleBarrier Inside Rendezvous Meeting
  TwoPhaseCommit CommitProposal CommitSite
  ItemQueue Queue PriorityQueue DelayQueue IdQueue QueueItem
  AtomicValue Counter Configuration TreeCache
  Group Party Registration PersistentNode PersistentTtlNode
  ServiceDiscovery Service NameService LeaderCoordinator
  Ensemble TestServer Faults FaultProxy
`
  .trim()
  .split(/\s+/)
/** Not for programs: they are called by other parts of the package. */
const internal = new Set([
  'Ensemble.start',
  'TestServer.endSession',
  'Registration.registered',
  'QueueItem.filled',
])
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

  test.each(owners)('and every method of %s', (owner) => {
    const methods = documented.filter(({ name }) => name.startsWith(`${owner}.`))
    expect(methods.length).toBeGreaterThan(0)
    const lacking = methods
      .filter(({ name, isMethod }) => isMethod && !named.has(name) && !internal.has(name))
      .filter(({ name }) => !name.endsWith('.constructor'))
      .map(({ name }) => name)
    expect(lacking).toEqual([])
  })
})

const examples = documented.flatMap(({ name, examples: own }) =>
  own.map((example) => ({ ...example, name: name === '' ? example.file : name })),
)
const placeOf = ({ file, line }: SourceExample): string => `${file}:${line}`
const imported = ['client', 'recipes', 'testing'].map((name) => `@zabra/${name}`)
const namesOf = new Map<string, readonly string[]>()

beforeAll(async () => {
  for (const entry of [...imported, '@zabra/recipes/schedulers', '@zabra/client/opentelemetry'])
    namesOf.set(entry, Object.keys((await import(entry)) as object))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  examples.forEach((example, index) => {
    writeFileSync(join(folder, `example-${index}.ts`), moduleOf(example))
  })
  writeFileSync(join(folder, 'world.d.ts'), world)
  writeFileSync(join(folder, 'opentelemetry.d.ts'), opentelemetry)
  writeFileSync(join(folder, 'opened.ts'), opened)
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
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every example compiles', () => {
  expect(examples.length).toBeGreaterThan(250)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  const where = (_: string, index: string): string => placeOf(examples[Number(index)]!)
  expect(stdout.replaceAll(/[^\s]*example-(\d+)\.ts/g, where)).toBe('')
  expect(status).toBe(0)
})

describe('every example runs', () => {
  let server: RunningServer
  let ensemble: Promise<Ensemble> | undefined
  beforeAll(async () => {
    const config = { extendedTypesEnabled: 'true', tickTime: 100, maxSessionTimeout: 60_000 }
    server = await startServer({ config })
  })
  afterAll(async () => {
    await (await ensemble)?.stop()
    await server.stop()
  })
  const theEnsemble = async (): Promise<Ensemble> => {
    const all = await (ensemble ??= startEnsemble({ servers: 3, config: { tickTime: 100 } }))
    await all.heal()
    for (const one of all.servers) {
      await one.resume()
      await one.start()
    }
    await all.untilServing()
    return all
  }

  test.each(examples.map((example, index) => [placeOf(example), example, index] as const))(
    '%s',
    async (_, example, index) => {
      const { name, code } = example
      for (const method of ['log', 'warn', 'info'] as const) {
        const silence = vi.spyOn(console, method).mockImplementation(() => {})
        onTestFinished(() => silence.mockRestore())
      }
      const uses = (word: string): boolean => usesName(code, word)
      const { Client: Opened, close } = (await import(join(folder, 'opened.ts'))) as Opened
      // Closing may call functions of the example: the names stay until then.
      onTestFinished(() => void vi.unstubAllGlobals())
      onTestFinished(close)
      const ofEnsemble = uses('ensemble') || uses('server')
      const servers = `${ofEnsemble ? (await theEnsemble()).connectString : server.connectString}/example-${index}`
      const other = new Opened({ servers })
      await other.ensure('/')
      await plant(other)
      const proxy = await startProxy(servers)
      onTestFinished(() => proxy.stop())
      const client = new Opened({
        servers: uses('proxy') || name === 'untilState' ? proxy.connectString : servers,
      })
      const interruption = new AbortController()
      const own = { client, other, servers, proxy, interruption }
      const given: Given = { ...own, ensemble: theEnsemble, errorOf: name }
      await beforehand[name]?.(given)
      await run(example, index, given, await worldOf(code, given))
    },
    20_000,
  )

  /** The names that the code uses without declaring them. */
  async function worldOf(code: string, given: Given): Promise<Partial<World>> {
    const own: Record<string, unknown> = {}
    for (const [name, make] of Object.entries(makers)) {
      const declares = new RegExp(`\\b(?:const|using) (?:\\{[^}]*)?\\b${name}\\b`)
      if (!usesName(code, name) || declares.test(withoutComments(code))) continue
      own[name] = await make(given)
    }
    return own
  }

  async function run(
    { name, code }: (typeof examples)[number],
    index: number,
    given: Given,
    own: Partial<World>,
  ): Promise<void> {
    for (const [global, value] of Object.entries(own)) vi.stubGlobal(global, value)
    const file = join(folder, `run-${index}.ts`)
    writeFileSync(file, runnable(moduleOf({ file: name, line: 0, code }), given.servers))
    const { example } = (await import(file)) as { example: () => Promise<void> }
    const running = example()
    const outcome = running.then(
      () => undefined,
      (error: unknown) => error ?? 'rejected',
    )
    const others = Promise.resolve(meanwhile[name]?.(given, own))
    if (endless.has(name)) {
      for (let i = 0; i < 20; i++) await given.other.sync()
      expect(await Promise.race([outcome, Promise.resolve('it goes on')])).toBe('it goes on')
      given.interruption.abort()
      await given.client.close()
      await closeOpened()
      await outcome
      return
    }
    const error = await outcome
    await others
    const refusal = refused[name]
    if (refusal !== undefined) expect(isRefusal(error) && error.reason).toBe(refusal)
    else if (error !== given.interruption.signal.reason || error === undefined)
      expect(error).toBeUndefined()
  }

  async function closeOpened(): Promise<void> {
    const { close } = (await import(join(folder, 'opened.ts'))) as Opened
    await close()
  }
})

interface Opened {
  readonly Client: typeof Client
  readonly close: () => Promise<void>
}

function withoutComments(code: string): string {
  return code.replaceAll(/\/\/.*$/gm, '')
}

function usesName(code: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(withoutComments(code))
}

/** The client, with every one that was opened closed at the end of the example. */
const opened = `
import { Client as Original, connect as originalConnect } from '@zabra/client'
export * from '@zabra/client'
const all: Original[] = []
export class Client extends Original {
  constructor(options: ConstructorParameters<typeof Original>[0]) {
    super(options)
    all.push(this)
  }
}
export async function connect(...args: Parameters<typeof originalConnect>): Promise<Original> {
  const client = await originalConnect(...args)
  all.push(client)
  return client
}
export async function close(): Promise<void> {
  await Promise.all(all.splice(0).map((client) => client.close()))
}
`

/** The module, for the servers of the test, and without the waits of a reader. */
function runnable(module: string, servers: string): string {
  return module
    .replaceAll(/zk-1:2181(?:,zk-\d:2181)+|zk-2:2181(?:,zk-\d:2181)+|127\.0\.0\.1:2181/g, servers)
    .replaceAll(/\bforMs: \d+/g, 'forMs: 20')
    .replaceAll(/\bseeds: \d+/g, 'seeds: 2')
    .replaceAll(`from '@zabra/client'`, `from './opened.ts'`)
    .replaceAll(/^import .* from '@opentelemetry\/api'$/gm, '')
}

/** As a module of its own, in a function that may be left early, with the names of ours imported. */
function moduleOf({ code }: SourceExample): string {
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

/** The names of `example-world.ts`, for the compiler. */
const world = `
import type { World } from '../example-world.ts'

declare global {
${Object.keys(makers)
  .map((name) => `  const ${name}: World['${name}']`)
  .join('\n')}
  interface Settings { readonly limit: number }
  interface Reminder { readonly to: string }
  interface Mail { readonly subject: string }
  interface Transfer { readonly amount: number }
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
