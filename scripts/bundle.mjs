// Bundles the zabra command: loading some two hundred files takes a third of a server's start. Each
// command is a separate file, loaded when it is used, so that `zabra get` never loads the server.
// The files are CommonJS, which Node loads in half the time of ES modules.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import bundleFile from './bundle-file.cjs'

const { bundle, isFresh } = bundleFile

/**
 * Functions of Node modules that are slow to load and rarely needed: they cost five milliseconds of
 * a one-shot command. In the bundle they are loaded when they are called.
 */
const loadedWhenCalled = {
  'node:tls': ['connect'],
  'node:crypto': ['createHash', 'randomBytes'],
  'node:worker_threads': ['Worker'],
}

/** A module whose functions load the real module. */
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

/**
 * Turns named imports into constants. Otherwise each use of an import is a lookup by a getter, which
 * costs a server a quarter of its speed. No module changes what it exports, and no two files of the
 * bundle import each other.
 */
function bindImports(code) {
  return code.replace(/^import \{([^}]*)\} from ("[^"]+");$/gm, (_, names, from) => {
    const bound = names.replaceAll(/(\S+) as (\S+)/g, '$1: $2')
    return `const {${bound}} = require(${from});`
  })
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
    // For Node this package provides CommonJS only, which a bundle of ES modules cannot load.
    alias: {
      yaml: fileURLToPath(new URL('../node_modules/yaml/browser/index.js', import.meta.url)),
    },
    format: 'esm',
    plugins: [lazyBuiltins],
    logLevel: 'warning',
  })
  // esbuild can only split ES modules. The entry is converted last, so its date shows that all is
  // done.
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'))
  const entry = basename(bundle)
  for (const file of [...files.filter((name) => name !== entry), entry]) {
    const path = join(folder, file)
    const { code } = await transform(bindImports(readFileSync(path, 'utf8')), {
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
