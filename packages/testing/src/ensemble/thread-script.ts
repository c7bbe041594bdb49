import { fileURLToPath } from 'node:url'

let bundle: Promise<URL> | undefined

/** The program of a server's thread, next to this file. */
export function threadScript(): Promise<URL> | URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./server-thread.js', import.meta.url)
  bundle ??= bundleSources()
  return bundle
}

/**
 * A thread cannot run TypeScript. In this repository, which works without a build, esbuild compiles
 * it.
 */
async function bundleSources(): Promise<URL> {
  const { build } = await import('esbuild')
  // The server finds the file with its version relative to its own location.
  const version = new URL('../../../server/src/view/version.ts', import.meta.url)
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./server-thread.ts', import.meta.url))],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@zabra/source'],
    define: { 'import.meta.url': JSON.stringify(version.href) },
    logLevel: 'warning',
  })
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64')
  return new URL(`data:text/javascript;base64,${code}`)
}
