// Links the packages of this repository that are missing in node_modules: after a merge that adds a
// package, tests and the compiler find it without an installation.
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const scope = join(root, 'node_modules', '@zabra')

for (const folder of existsSync(scope) ? readdirSync(join(root, 'packages')) : []) {
  const manifest = join(root, 'packages', folder, 'package.json')
  if (!existsSync(manifest)) continue
  const { name } = JSON.parse(readFileSync(manifest, 'utf8'))
  const link = join(root, 'node_modules', name)
  if (!name.startsWith('@zabra/') || existsSync(link)) continue
  try {
    symlinkSync(join('..', '..', 'packages', folder), link, 'junction')
  } catch (error) {
    // Another process was faster.
    if (error.code !== 'EEXIST') throw error
  }
}
