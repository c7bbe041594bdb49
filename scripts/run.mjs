// Runs a TypeScript program of this repository from its sources: `node scripts/run.mjs FILE ARGS`.
// It installs and builds first, so every `npm run` command works in a fresh clone.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: node scripts/run.mjs FILE [ARGS]')
  process.exit(2)
}

await import('./bootstrap.mjs')

const child = spawn(
  process.execPath,
  ['--conditions=@zabra/source', '--import', 'tsx', join(root, file), ...args],
  { stdio: 'inherit' },
)
// A signal to the process group reaches the child by itself; one to this process must be passed on.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => {})
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
