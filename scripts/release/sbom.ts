import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBundledCommand } from './bundled-command.ts'
import { npm } from './npm.ts'
import { repository, type PublishedPackage } from './published-packages.ts'

interface Bom {
  components: { externalReferences: { url: string }[] }[]
}

/**
 * Writes a bill of materials (CycloneDX) for all packages together: what an installation contains,
 * and what the command contains. Installs them into `scratch`, an empty folder whose name the
 * document gets.
 */
export function writeSbom(
  packages: readonly PublishedPackage[],
  tarballs: readonly string[],
  file: string,
  scratch: string,
): void {
  mkdirSync(scratch, { recursive: true })
  const command = packages.find(({ manifest }) => manifest.bin !== undefined)
  const contained =
    command === undefined
      ? []
      : [...readBundledCommand(join(repository, 'packages', command.folder)).contains]
  const { version } = packages[0]!.manifest
  writeFileSync(
    join(scratch, 'package.json'),
    JSON.stringify({
      name: 'zabra-release',
      version,
      license: 'Apache-2.0',
      private: true,
      dependencies: Object.fromEntries([
        ...packages.map(({ manifest }, i) => [manifest.name, `file:${tarballs[i]}`]),
        ...contained.map(([name, { version: exact }]) => [name, exact]),
      ]),
    }),
  )
  npm(['install', '--ignore-scripts', '--no-audit', '--no-fund'], scratch)
  const bom = JSON.parse(npm(['sbom', '--sbom-format', 'cyclonedx'], scratch)) as Bom
  for (const component of bom.components)
    component.externalReferences = component.externalReferences.filter(
      ({ url }) => !url.startsWith('file:'),
    )
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`)
}
