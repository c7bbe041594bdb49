// Makes one file of the zabra command: loading some two hundred costs a third of a server's start.
import { fileURLToPath } from 'node:url'
import { bundle, isFresh } from './bundle-file.mjs'

if (!isFresh()) {
  const { build } = await import('esbuild')
  await build({
    entryPoints: [fileURLToPath(new URL('../packages/cli/dist/index.js', import.meta.url))],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
}
