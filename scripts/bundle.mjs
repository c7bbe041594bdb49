// Bundles the zabra command: loading some two hundred files costs a third of a server's start. Each
// command is a file of its own, loaded when it is used, so that `zabra get` never loads the server.
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, isFresh } from './bundle-file.mjs'

if (!isFresh()) {
  const { build } = await import('esbuild')
  const folder = dirname(bundle)
  rmSync(folder, { recursive: true, force: true })
  await build({
    entryPoints: {
      zabra: fileURLToPath(new URL('../packages/cli/dist/index.js', import.meta.url)),
    },
    outdir: folder,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    // For Node this package offers CommonJS only, which a bundle of modules cannot load.
    alias: {
      yaml: fileURLToPath(new URL('../node_modules/yaml/browser/index.js', import.meta.url)),
    },
    format: 'esm',
    logLevel: 'warning',
  })
}
