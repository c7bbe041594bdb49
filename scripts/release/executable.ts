/**
 * Makes the zabra command as a single file that runs on machines without Node.js:
 *
 *     npm run executable -- [--out FILE]
 *
 * It consists of the Node.js that runs this program and the bundled command, so it runs on the same
 * operating system and processor.
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
