// Bundles the zabra command: loading some two hundred files costs a third of a server's start. Each
// command is a file of its own, loaded when it is used, so that `zabra get` never loads the server.
// The files are CommonJS, which Node loads in half the time of modules.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import bundleFile from './bundle-file.cjs'

const { bundle, isFresh } = bundleFile

/**
 * What the client takes of modules of Node that are slow to load and seldom needed: five milliseconds
 * of a one-shot. In the bundle they are loaded when they are called.
 */
const loadedWhenCalled = {
  'node:tls': ['connect'],
  'node:crypto': ['createHash', 'randomBytes'],
  'node:worker_threads': ['Worker'],
}

/** A module with functions that load the real one. */
function lazyModule(name) {
  const functions = loadedWhenCalled[name].map(
    (one) => `export function ${one}(...args) {
      const real = require('${name}').${one}
      return new.target ? new real(...args) : real(...args)
    }`,
  )
  return functions.join('\n')
}

const lazyBuiltins = {
  name: 'lazy-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:(tls|crypto|worker_threads)$/ }, ({ path, importer }) =>
      /[\\/]packages[\\/]client[\\/]/.test(importer) ? { path, namespace: 'lazy' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => ({ contents: lazyModule(path) }))
  },
}

if (!isFresh()) {
  const { build, transform } = await import('esbuild')
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
    plugins: [lazyBuiltins],
    logLevel: 'warning',
  })
  // esbuild splits modules only. The bundle's entry is converted last: its date says that all is done.
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'))
  const entry = basename(bundle)
  for (const file of [...files.filter((name) => name !== entry), entry]) {
    const path = join(folder, file)
    const { code } = await transform(readFileSync(path, 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      supported: { 'dynamic-import': false },
      define: { 'import.meta.url': 'moduleUrl' },
    })
    const url = `const moduleUrl = require('node:url').pathToFileURL(__filename).href\n`
    writeFileSync(path, code.includes('moduleUrl') ? url + code : code)
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n')
}
