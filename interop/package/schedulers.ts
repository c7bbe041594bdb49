import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { failed, notRun, ok, type Check } from '../src/checks.ts'
import type { FreshProject } from './fresh-project.ts'

const programs = join(import.meta.dirname, 'consumer', 'schedulers')

const schedulers = {
  'node-cron': ['node-cron@4'],
  nest: ['@nestjs/common@12', '@nestjs/core@12', '@nestjs/schedule@12', 'reflect-metadata', 'rxjs'],
} as const

/** The adapters for schedulers with the schedulers themselves, as npm installs them. */
export function schedulersOf(
  makeProject: (name: string) => FreshProject,
  tarballs: readonly string[],
  freshTree: () => string,
): Check[] {
  return Object.entries(schedulers).map(([name, packages]) => ({
    name: `@zabra/recipes/schedulers: ${name}`,
    run: async () => {
      const project = makeProject(name)
      // TypeScript 6 is the newest with decorators of the kind that Nest uses.
      const tools = ['typescript@6', '@types/node@20']
      const installed = await project.install(...tools, ...packages, ...tarballs)
      if (!installed.ok) return notRun(installed.output)
      project.write(`${name}.ts`, readFileSync(join(programs, `${name}.ts`), 'utf8'))
      project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [`${name}.ts`] }))
      const compiled = await project.tool('tsc', '-p', '.')
      if (!compiled.ok) return failed(compiled.output)
      const { ok: isGood, output } = await project.node(`out/${name}.js`, freshTree())
      if (!isGood || output.trim() !== 'all well') return failed(output)
      const versions = project
        .installed()
        .filter((one) => packages.some((wanted) => wanted.startsWith(`${one.name}@`)))
        .map((one) => `${one.name} ${String(one.manifest['version'])}`)
      return ok(versions.join(', '))
    },
  }))
}

const compilerOptions = {
  target: 'ES2022',
  lib: ['ES2023'],
  types: ['node'],
  outDir: 'out',
  rootDir: '.',
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  // The declarations of the schedulers are theirs.
  skipLibCheck: true,
}
