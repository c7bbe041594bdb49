/**
 * Makes the tarballs of the published packages, in dist/:
 *
 *     npm run pack -- [--out FOLDER]
 */
import { statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { packAll } from './pack-all.ts'
import { repository } from './published-packages.ts'

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(repository, 'dist') } },
})
const out = resolve(values.out)
for (const { tarball } of packAll(out))
  console.log(`${Math.ceil(statSync(tarball).size / 1024)} KB`.padStart(8), basename(tarball))
console.log(`${relative(process.cwd(), out) || out}: tarballs, zabra-sbom.cdx.json, SHA256SUMS`)
