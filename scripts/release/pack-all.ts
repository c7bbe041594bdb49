import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { npm } from './npm.ts'
import { publishedPackages, type PublishedPackage } from './published-packages.ts'
import { writeSbom } from './sbom.ts'
import { stage } from './stage.ts'

export interface PackedPackage extends PublishedPackage {
  readonly tarball: string
}

/**
 * Makes the tarball of every published package, in an order in which they can be published, with a
 * bill of materials and checksums. Removes the previous content of the folder.
 */
export function packAll(into: string): PackedPackage[] {
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'zabra-pack-'))
  try {
    const packages = publishedPackages()
    const packed = packages.map((one) => ({ ...one, tarball: packOne(one, scratch, into) }))
    const tarballs = packed.map(({ tarball }) => tarball)
    const sbom = join(into, 'zabra-sbom.cdx.json')
    writeSbom(packages, tarballs, sbom, join(scratch, 'zabra-release'))
    const sums = [...tarballs, sbom].map((file) => `${sha256(file)}  ${basename(file)}\n`)
    writeFileSync(join(into, 'SHA256SUMS'), sums.join(''))
    return packed
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

function packOne(one: PublishedPackage, scratch: string, into: string): string {
  const folder = join(scratch, one.folder)
  stage(one, folder)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', into]
  const [{ filename }] = JSON.parse(npm(args, folder)) as [{ filename: string }]
  return join(into, filename)
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
