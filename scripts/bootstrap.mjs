// Makes a fresh clone ready to run: installs if something is missing, and builds what changed. It
// is plain JavaScript, because it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const lock = join(root, 'package-lock.json')
const stamp = join(root, 'node_modules', '.zabra-installed')

/** Output goes to stderr, so that a command's own stdout stays clean. */
function run(what, command, args) {
  process.stderr.write(`zabra: ${what} ...\n`)
  const shell = process.platform === 'win32'
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell })
  if (status !== 0) {
    process.stderr.write(`zabra: ${what} failed (${command} ${args.join(' ')})\n`)
    process.exit(status ?? 1)
  }
}

/** Two commands that start at once in a fresh clone must not install at the same time. */
const turn = join(root, '.zabra-bootstrap')

function takeTurn() {
  let isWaiting = false
  for (;;) {
    try {
      writeFileSync(turn, String(process.pid), { flag: 'wx' })
      process.on('exit', leaveTurn)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (!isHeld()) rmSync(turn, { force: true })
    else if (!isWaiting) {
      isWaiting = true
      process.stderr.write('zabra: another command is installing or building, waiting ...\n')
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  }
}

function leaveTurn() {
  process.off('exit', leaveTurn)
  rmSync(turn, { force: true })
}

/** False if the process that created the file was killed. An empty file counts as held. */
function isHeld() {
  try {
    process.kill(Number(readFileSync(turn, 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

takeTurn()
const wanted = readFileSync(lock, 'utf8')
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  // Installs exactly the lock file, and lets no package run scripts.
  run('installing', 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'])
  writeFileSync(stamp, wanted)
}
run('building', process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b'])
await import('../packages/console/build.mjs')
await import('./bundle.mjs')
leaveTurn()
