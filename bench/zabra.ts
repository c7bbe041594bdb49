import { readFileSync } from 'node:fs'
import { zabraCommand } from '../interop/src/commands.ts'
import type { ServerKind } from './server-kinds.ts'

const manifest = new URL('../package.json', import.meta.url)

/** The server of this workspace, as `bin/zabra server` runs it. */
export function findZabra(): ServerKind {
  const version = /"version": "([^"]+)"/.exec(readFileSync(manifest, 'utf8'))?.[1] ?? ''
  return {
    label: 'zabra',
    version: `zabra ${version} on Node ${process.versions.node}`,
    command: zabraCommand(),
    // Node reports its live heap only to an inspector, and opening one would change the
    // measurement.
    liveHeapMb: () => undefined,
  }
}
