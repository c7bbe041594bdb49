import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Bundle {
  readonly path: string
  /** A hash of the code; equal code has an equal hash. */
  readonly hash: string
  remove(): void
}

/** Bundles the command of this package into one file. */
export async function bundle(entry = 'main.ts'): Promise<Bundle> {
  const { build } = await import('esbuild')
  const directory = mkdtempSync(join(tmpdir(), 'zabra-sim-'))
  const path = join(directory, 'sim.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL(`./${entry}`, import.meta.url))],
    outfile: path,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    conditions: ['@zabra/source'],
    external: ['esbuild'],
    sourcemap: true,
    logLevel: 'warning',
  })
  const hash = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12)
  return { path, hash, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
