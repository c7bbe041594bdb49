import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FreshProject } from './fresh-project.ts'
import { failed, notRun, ok, type Check, type Outcome } from '../src/checks.ts'

const program = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'consumer', name), 'utf8')

/** The strictest options of the compiler, applied to the declarations of packages too. */
const strictOptions = {
  target: 'ES2022',
  lib: ['ES2023'],
  types: ['node'],
  outDir: 'out',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: false,
}

const resolutions = {
  node: { module: 'NodeNext', moduleResolution: 'NodeNext' },
  bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
}

/** A TypeScript project of this release: compiled for Node and for bundlers, and run. */
export function typescript(
  release: string,
  makeProject: () => FreshProject,
  tarballs: readonly string[],
  freshTree: () => string,
  { name: checkName = `TypeScript ${release}`, source = 'program.ts' } = {},
): Check {
  return {
    name: checkName,
    run: async () => {
      const project = makeProject()
      const tools = [`typescript@${release}`, '@types/node@20']
      const installed = await project.install(...tools, ...tarballs)
      if (!installed.ok) return notRun(installed.output)
      project.write('program.ts', program(source))
      for (const [name, resolution] of Object.entries(resolutions)) {
        const compilerOptions = { ...strictOptions, ...resolution }
        project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['program.ts'] }))
        const compiled = await project.tool('tsc', '-p', '.')
        if (!compiled.ok) return failed(`for ${name}: ${compiled.output}`)
      }
      const { output } = await project.tool('tsc', '--version')
      return runs(project, 'out/program.js', freshTree(), `${output.trim()}, compiled and run`)
    },
  }
}

export function javascript(
  kind: 'mjs' | 'cjs',
  project: FreshProject,
  freshTree: () => string,
): Check {
  return {
    name: kind === 'mjs' ? 'plain JavaScript' : 'plain JavaScript, CommonJS',
    run: async () => {
      project.write(`program.${kind}`, program(`program.${kind}`))
      return runs(project, `program.${kind}`, freshTree(), `Node ${process.version}`)
    },
  }
}

/** A program that starts an embedded server and uses it. */
export function embedded(project: FreshProject): Check {
  return {
    name: 'a server inside a program',
    run: () => {
      project.write('embedded.mjs', program('embedded.mjs'))
      return runs(project, 'embedded.mjs', '', `Node ${process.version}`)
    },
  }
}

async function runs(
  project: FreshProject,
  file: string,
  servers: string,
  fact: string,
): Promise<Outcome> {
  const { ok: isGood, output } = await project.node(file, servers)
  return isGood && output.trim() === 'all well' ? ok(fact) : failed(output)
}
