// Checks that imports point one way: between packages, and between the folders of a package that
// has layers. Pure packages must not import Node modules, and state machines must not wait for
// anything. What a file exports is used by another one. Fails if a rule is broken, and prints the
// graph of folders.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unusedExports } from './unused-exports.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The imports that each package may have besides its own files. `node` stands for every `node:` module. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  core: ['@zabra/protocol'],
  client: ['@zabra/protocol'],
  recipes: ['@zabra/client', '@zabra/client/internal'],
  server: ['node', '@zabra/protocol', '@zabra/core', '@zabra/console'],
  // These are types only, which leave nothing in the page.
  console: ['preact', 'preact/hooks', '@preact/signals', '@zabra/protocol/http-api'],
  cli: ['node', '@zabra/protocol', '@zabra/client', '@zabra/recipes'],
  testing: ['node', '@zabra/client', '@zabra/client/internal', '@zabra/server', '@zabra/simulator'],
  simulator: [
    '@zabra/protocol',
    '@zabra/core',
    '@zabra/client',
    '@zabra/client/internal',
    '@zabra/recipes',
  ],
}

/**
 * The layers of a folder, lowest first: a file imports from its own layer and from those before it,
 * types included. A name with an extension is one file; `.` is all other files directly in the
 * folder.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  'core/src': [
    'ports.ts',
    'base',
    'membership',
    'state',
    'operations',
    'storage',
    'history',
    'service',
    'consensus',
    'peer',
    '.',
  ],
  'server/src': [
    'base',
    'config',
    'disk',
    'tls',
    'auth',
    'audit',
    'net',
    'view',
    'http',
    'api',
    'admin',
    'running',
    '.',
  ],
  'recipes/src': ['waiting', 'nodes', 'live', 'holding', 'turns', 'items', '.', 'adapters'],
}

/** Imports that are allowed to point upward, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  'core/src/state/database.ts -> core/src/operations/index.ts':
    'the database applies transactions; operations know the database only as a type',
}

/**
 * Folders of state machines: they take inputs, return results, and wait for nothing. Their drivers
 * are elsewhere.
 */
const machines: readonly string[] = ['packages/core/src/consensus/']

const waitingPattern = /\b(?:async|await|Promise|Deferred)\b|\.(?:then|catch|finally)\(/

/** A simulation has no socket, file or clock; the programs that start simulations have. */
const mayUseNode: ReadonlySet<string> = new Set([
  'packages/simulator/src/main.ts',
  'packages/simulator/src/arguments.ts',
  'packages/simulator/src/sweep.ts',
  'packages/simulator/src/bundle.ts',
  'packages/simulator/src/progress.ts',
  'packages/simulator/src/sweep-record.ts',
  'packages/simulator/src/mutants/main.ts',
])

/** The part of the client that uses Node; the rest knows only its host. */
const clientOnNode = ['packages/client/src/transport/', 'packages/client/src/node-host/']

/**
 * Files that may import more than the rest of their package: most commands need neither server nor
 * YAML.
 */
const alsoIn: Readonly<Record<string, readonly string[]>> = {
  'packages/cli/src/backup/directory-source.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/backup/record-collector.ts': ['@zabra/core'],
  'packages/cli/src/backup/restore-directory.ts': ['@zabra/core'],
  'packages/cli/src/backup/restore-plan.ts': ['@zabra/core'],
  'packages/cli/src/backup/state.ts': ['@zabra/core'],
  'packages/cli/src/backup/take.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/backup/verify.ts': ['@zabra/core'],
  'packages/cli/src/commands/server.ts': ['@zabra/server'],
  'packages/cli/src/commands/dev-member.ts': ['@zabra/server'],
  'packages/cli/src/dev/certificates.ts': ['@zabra/server'],
  'packages/cli/src/commands/config/check.ts': ['@zabra/server'],
  'packages/cli/src/commands/tls/check.ts': ['@zabra/server'],
  'packages/cli/src/commands/tls/init.ts': ['@zabra/server'],
  'packages/cli/src/history/files-source.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/offline/filters.ts': ['@zabra/core'],
  'packages/cli/src/offline/files.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/offline/replay.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/offline/snapshots.ts': ['@zabra/core', '@zabra/server'],
  'packages/cli/src/offline/transactions.ts': ['@zabra/core'],
  'packages/cli/src/trees/yaml-file.ts': ['yaml'],
  'packages/simulator/src/bundle.ts': ['esbuild'],
  'packages/testing/src/ensemble/thread-script.ts': ['esbuild'],
}

/** Modules that every test may use. */
const allowedInTests = ['node', 'vitest', 'fast-check', '@zabra/protocol', '@zabra/core']

/** Clients are tested against real servers. */
const alsoInTestsOf: Readonly<Record<string, readonly string[]>> = {
  client: ['@zabra/server', 'esbuild'],
  recipes: ['@zabra/client', '@zabra/server', '@zabra/testing', 'esbuild'],
  cli: ['@zabra/server'],
  testing: ['@zabra/recipes'],
  server: ['ajv/dist/2020.js'],
}

const importPattern = /(?:^|\n)\s*(?:import|export)\b[^'"]*?from\s*'([^']+)'|import\('([^']+)'\)/g

const problems: string[] = []
const used = new Set<string>()
/** The number of imports from one layer of a folder to another. */
const arrows = new Map<string, number>()
let files = 0

for (const name of readdirSync(join(root, 'packages'))) {
  const rules = allowed[name]
  if (rules === undefined) {
    problems.push(`packages/${name} has no rule in scripts/check-imports.ts`)
    continue
  }
  const directory = join(root, 'packages', name)
  for (const file of sources(directory)) {
    files++
    const isTest = file.endsWith('.test.ts') || file.includes(`${name}/test/`)
    const may = isTest ? [...rules, ...allowedInTests, ...(alsoInTestsOf[name] ?? [])] : rules
    const where = slashed(relative(root, file))
    const text = readFileSync(file, 'utf8')
    if (!isTest && machines.some((folder) => where.startsWith(folder))) checkMachine(where, text)
    for (const match of text.matchAll(importPattern)) {
      const target = match[1] ?? match[2] ?? ''
      if (target.startsWith('.')) {
        const reached = join(dirname(file), target)
        const inside = !relative(directory, reached).startsWith('..')
        // Tests may share support files.
        const isShared = isTest && target.includes('/test/support/')
        if (!inside && !isShared) problems.push(`${where} reaches out of its package: ${target}`)
        else if (!isTest) checkLayers(where, slashed(relative(root, reached)))
        continue
      }
      const wanted = target.startsWith('node:') ? 'node' : target
      if (wanted === 'node' && isOnNode(where)) continue
      if (alsoIn[where]?.includes(wanted)) continue
      if (!may.includes(wanted)) problems.push(`${where} may not import ${target}`)
    }
  }
}
for (const exception of Object.keys(exceptions)) {
  if (!used.has(exception)) problems.push(`no import needs this exception any more: ${exception}`)
}

checkPublicFiles('packages/recipes/src')
checkExports(['packages', 'interop', 'bench', 'examples', 'scripts', 'site', 'deploy'])
checkPublished('simulator')

for (const [folder, order] of Object.entries(layers)) printGraph(folder, order)
for (const problem of problems) console.error(problem)
console.log(`${files} files, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1

/** A machine waits for nothing: no promises, no asynchronous functions. */
function checkMachine(where: string, text: string): void {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
  const match = waitingPattern.exec(code)
  if (match !== null) problems.push(`${where} is part of a machine, and has "${match[0]}"`)
}

/** Counts an import between two layers of a folder, and reports it if it points upward. */
function checkLayers(from: string, to: string): void {
  const folder = commonFolder(from, to)
  const order = layers[folder.replace('packages/', '')]
  if (order === undefined) return
  const [source, target] = [layerOf(order, folder, from), layerOf(order, folder, to)]
  if (source === target) return
  const arrow = `${folder}: ${source} -> ${target}`
  arrows.set(arrow, (arrows.get(arrow) ?? 0) + 1)
  for (const layer of [source, target])
    if (!order.includes(layer)) problems.push(`${folder} has no layer ${layer}: ${from} -> ${to}`)
  if (order.indexOf(target) < order.indexOf(source)) return
  const exception = `${from} -> ${to}`.replaceAll('packages/', '')
  if (exceptions[exception] === undefined)
    problems.push(`${from} imports from a higher layer: ${to}`)
  else used.add(exception)
}

/** The deepest folder that contains both files. */
function commonFolder(a: string, b: string): string {
  const [left, right] = [a.split('/').slice(0, -1), b.split('/').slice(0, -1)]
  const length = left.findIndex((name, i) => name !== right[i])
  return left.slice(0, length === -1 ? left.length : length).join('/')
}

/** The layer of a file in a folder: the file itself, the next folder on the way to it, or `.`. */
function layerOf(order: readonly string[], folder: string, path: string): string {
  const [name = '', ...below] = path.slice(folder.length + 1).split('/')
  return below.length > 0 || order.includes(name) ? name : '.'
}

/** The files directly in the folder are public: `index.ts` must export from each. */
function checkPublicFiles(folder: string): void {
  const index = readFileSync(join(root, folder, 'index.ts'), 'utf8')
  for (const file of readdirSync(join(root, folder))) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === 'index.ts') continue
    if (!index.includes(`from './${file}'`)) problems.push(`${folder}/${file} is not in index.ts`)
  }
}

/** What only its own file uses is not exported, and what nobody uses is removed. */
function checkExports(folders: readonly string[]): void {
  const all = folders.flatMap((folder) => [...sources(join(root, folder), /\.(?:tsx?|mjs)$/)])
  for (const { file, name } of unusedExports(all)) {
    problems.push(`${slashed(relative(root, file))} exports ${name}, which no other file uses`)
  }
}

/** Of a package that is published in part: what is published imports nothing that is not. */
function checkPublished(name: string): void {
  const source = join(root, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
    readonly files: readonly string[]
  }
  const reached = new Set<string>()
  const visit = (file: string): void => {
    const path = slashed(relative(source, file))
    if (reached.has(path)) return
    reached.add(path)
    if (!manifest.files.some((one) => path === one || path.startsWith(`${one}/`)))
      problems.push(`packages/${name}/${path} is imported by what is published, and is not`)
    for (const match of readFileSync(file, 'utf8').matchAll(importPattern)) {
      const target = match[1] ?? match[2] ?? ''
      if (target.startsWith('.')) visit(join(dirname(file), target))
      else if (target === '@zabra/recipes')
        problems.push(`packages/${name}/${path} is published, and may not import ${target}`)
    }
  }
  visit(join(source, 'src', 'index.ts'))
}

function printGraph(folder: string, order: readonly string[]): void {
  console.log(`${folder}, lowest layer first; the number counts imports`)
  for (const layer of order) {
    const below = order.flatMap((other) => {
      const count = arrows.get(`packages/${folder}: ${layer} -> ${other}`)
      return count === undefined ? [] : [`${other} ${count}`]
    })
    console.log(`  ${layer.padEnd(12)} ${below.length === 0 ? '' : '-> '}${below.join(', ')}`)
  }
  for (const [exception, reason] of Object.entries(exceptions)) {
    if (exception.startsWith(`${folder}/`)) console.log(`  exception: ${exception} (${reason})`)
  }
}

function isOnNode(file: string): boolean {
  return mayUseNode.has(file) || clientOnNode.some((folder) => file.startsWith(folder))
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

function* sources(directory: string, kind = /\.tsx?$/): IterableIterator<string> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      if (entry.name !== 'dist' && entry.name !== 'node_modules') yield* sources(path, kind)
    } else if (kind.test(entry.name)) {
      yield path
    }
  }
}
