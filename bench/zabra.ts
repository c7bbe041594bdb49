import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ServerKind } from './server-kinds.ts'

const command = fileURLToPath(new URL('../bin/zabra', import.meta.url))
const manifest = new URL('../package.json', import.meta.url)

/** The server of this workspace, as `bin/zabra server` runs it. */
export function findZabra(): ServerKind {
  if (!existsSync(command)) throw new Error('bin/zabra is not there: nothing to measure')
  const version = /"version": "([^"]+)"/.exec(readFileSync(manifest, 'utf8'))?.[1] ?? ''
  return {
    label: 'zabra',
    version: `zabra ${version} on Node ${process.versions.node}`,
    command: (configFile) => [command, 'server', configFile],
    // Node tells its live heap only to an inspector, and opening one would change what is measured.
    liveHeapMb: () => undefined,
  }
}
