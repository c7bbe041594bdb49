// Imports point one way, and the pure packages know no Node: this fails when they do not.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** What each package may import besides its own files. `node` stands for every `node:` module. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  core: ['@zabra/protocol'],
  client: ['@zabra/protocol'],
  recipes: ['@zabra/client', '@zabra/client/internal'],
  server: ['node', '@zabra/protocol', '@zabra/core'],
  cli: ['node', '@zabra/server'],
  simulator: [
    '@zabra/protocol',
    '@zabra/core',
    '@zabra/client',
    '@zabra/client/internal',
    '@zabra/recipes',
  ],
}

/** A simulation has no socket, file or clock; what starts many of them does. */
const mayUseNode: ReadonlySet<string> = new Set([
  'packages/simulator/src/main.ts',
  'packages/simulator/src/sweep.ts',
])

/** Where the client meets Node; the rest of it knows only its host. */
const clientOnNode = ['packages/client/src/transport/', 'packages/client/src/node-host/']

/** What tests may use everywhere. */
const allowedInTests = ['node', 'vitest', 'fast-check', '@zabra/protocol', '@zabra/core']

/** Clients are tested against real servers. */
const alsoInTestsOf: Readonly<Record<string, readonly string[]>> = {
  client: ['@zabra/server', 'esbuild'],
  recipes: ['@zabra/client', '@zabra/server', 'esbuild'],
}

const importPattern = /(?:^|\n)\s*(?:import|export)\b[^'"]*?from\s*'([^']+)'|import\('([^']+)'\)/g

function isOnNode(file: string): boolean {
  return mayUseNode.has(file) || clientOnNode.some((folder) => file.startsWith(folder))
}

function* sources(directory: string): IterableIterator<string> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      if (entry.name !== 'dist' && entry.name !== 'node_modules') yield* sources(path)
    } else if (entry.name.endsWith('.ts')) {
      yield path
    }
  }
}

const problems: string[] = []
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
    for (const match of readFileSync(file, 'utf8').matchAll(importPattern)) {
      const target = match[1] ?? match[2] ?? ''
      const where = relative(root, file)
      if (target.startsWith('.')) {
        const inside = !relative(directory, join(dirname(file), target)).startsWith('..')
        // Tests share what supports them.
        const isShared = isTest && target.includes('/test/support/')
        if (!inside && !isShared) problems.push(`${where} reaches out of its package: ${target}`)
        continue
      }
      const wanted = target.startsWith('node:') ? 'node' : target
      if (wanted === 'node' && isOnNode(where.replaceAll('\\', '/'))) continue
      if (!may.includes(wanted)) problems.push(`${where} may not import ${target}`)
    }
  }
}

for (const problem of problems) console.error(problem)
console.log(`${files} files, ${problems.length} imports in the wrong direction`)
process.exitCode = problems.length === 0 ? 0 : 1
