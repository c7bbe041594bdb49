import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const inPackages = (path) => fileURLToPath(new URL(`../packages/${path}`, import.meta.url))
const sources = ['protocol', 'core', 'client', 'recipes', 'server', 'cli']

/** As deep as the modules it is made of: they find their package.json from where they are. */
export const bundle = inPackages('cli/dist/bundle/zabra.js')

/** Whether nothing was compiled since. */
export function isFresh() {
  const madeMs = modifiedMs(bundle)
  return sources.every((name) => modifiedMs(inPackages(`${name}/tsconfig.tsbuildinfo`)) < madeMs)
}

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
