/**
 * Makes the zabra command as a single file that needs no Node.js on the machine it runs on:
 *
 *     npm run executable -- [--out FILE]
 *
 * It is the Node.js that runs this program, with the bundled command inside it, so it runs on the same
 * system and processor.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from './build-executable.ts'
import { repository } from './published-packages.ts'

const suffix = process.platform === 'win32' ? '.exe' : ''
const { values } = parseArgs({
  options: { out: { type: 'string', default: join(repository, 'dist', `zabra${suffix}`) } },
})
const out = resolve(values.out)
mkdirSync(dirname(out), { recursive: true })
const bytes = await buildExecutable(out)
chmodSync(out, 0o755)
console.log(
  `${Math.ceil(bytes / 1024 / 1024)} MB ${relative(process.cwd(), out)}, of Node ${process.version}`,
)
