// Builds the console, and makes of its files one module that a server loads when it is first asked
// for a page: so they are in the bundle of the command, too.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const inPackage = (path) => fileURLToPath(new URL(path, import.meta.url))
const made = inPackage('dist/index.js')
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else yield path
  }
}

function isFresh() {
  const madeMs = statSync(made, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = [...filesBelow(inPackage('src')), inPackage('index.html'), inPackage('build.mjs')]
  return sources.every((path) => statSync(path).mtimeMs < madeMs)
}

if (!isFresh()) {
  const { build } = await import('vite')
  const web = inPackage('dist/web')
  await build({
    root: inPackage('.'),
    configFile: false,
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: { outDir: web, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: false },
  })
  const files = {}
  for (const path of filesBelow(web)) {
    const url = path.slice(web.length).replaceAll('\\', '/')
    const gzip = gzipSync(readFileSync(path), { level: 9 })
    files[url === '/index.html' ? '/' : url] = {
      type: types[extname(path)] ?? 'application/octet-stream',
      gzip: gzip.toString('base64'),
      isImmutable: url.startsWith('/assets/'),
    }
  }
  mkdirSync(inPackage('dist'), { recursive: true })
  writeFileSync(made, `export const files = ${JSON.stringify(files, undefined, 2)}\n`)
  const licenses = ['preact', '@preact/signals', '@preact/signals-core'].map((name) => {
    const text = readFileSync(inPackage(`../../node_modules/${name}/LICENSE`), 'utf8')
    return `${name}\n\n${text.trim()}\n`
  })
  writeFileSync(inPackage('dist/LICENSES.txt'), licenses.join('\n'))
  rmSync(web, { recursive: true })
}
