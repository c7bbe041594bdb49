// Finds the bundle of the command. It is CommonJS, because bin/zabra loads this file at each start.
const { statSync } = require('node:fs')
const path = require('node:path')

const inPackages = (file) => path.join(__dirname, '..', 'packages', file)
const sources = ['protocol', 'core', 'client', 'recipes', 'server', 'cli']

/**
 * As deep as the modules it is made of, because they find their package.json relative to
 * themselves.
 */
const bundle = inPackages('cli/dist/bundle/zabra.js')

/** Whether nothing was compiled after the bundle. */
function isFresh() {
  const madeMs = modifiedMs(bundle)
  const made = sources.map((name) => `${name}/tsconfig.tsbuildinfo`)
  return [...made, 'console/dist/index.js'].every((file) => modifiedMs(inPackages(file)) < madeMs)
}

function modifiedMs(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

module.exports = { bundle, isFresh }
