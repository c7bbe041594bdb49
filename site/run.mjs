// Builds, serves or previews the documentation site: `node site/run.mjs build|dev|preview`. The
// site has its own dependencies and lock file, so that nothing else needs them; they are installed
// here if they are missing.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const site = dirname(fileURLToPath(import.meta.url))
const [command = 'build', ...options] = process.argv.slice(2)
if (!['build', 'dev', 'preview'].includes(command)) {
  console.error('usage: node site/run.mjs build|dev|preview [OPTIONS]')
  process.exit(2)
}

function run(program, args, shell = false) {
  const { status } = spawnSync(program, args, { cwd: site, stdio: 'inherit', shell })
  if (status !== 0) process.exit(status ?? 1)
}

const wanted = readFileSync(join(site, 'package-lock.json'), 'utf8')
const stamp = join(site, 'node_modules', '.zabra-installed')
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('site: installing ...')
  run('npm', ['ci', '--ignore-scripts'], process.platform === 'win32')
  writeFileSync(stamp, wanted)
}
run(process.execPath, [
  join('node_modules', 'vitepress', 'bin', 'vitepress.js'),
  command,
  ...options,
])
if (command === 'build')
  console.error('site: built in site/dist; look at it with npm run site:preview')
