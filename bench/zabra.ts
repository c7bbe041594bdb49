import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anyCommand } from '../interop/src/commands.ts'
import type { ServerKind } from './server-kinds.ts'

const workspace = fileURLToPath(new URL('..', import.meta.url))

/** The server of this workspace, as `bin/zabra server` runs it. */
export function findZabra(): ServerKind {
  return zabraIn(workspace, 'zabra')
}

/** The server of another clone, for example of an earlier commit; it must be built. */
export function findZabraIn(folder: string): ServerKind {
  const clone = resolve(folder)
  if (!existsSync(join(clone, 'bin', 'zabra')))
    throw new Error(`no clone of zabra: ${clone} has no bin/zabra`)
  return zabraIn(clone, basename(clone))
}

function zabraIn(clone: string, label: string): ServerKind {
  const manifest = readFileSync(join(clone, 'package.json'), 'utf8')
  const version = /"version": "([^"]+)"/.exec(manifest)?.[1] ?? ''
  return {
    label,
    version: `zabra ${version} on Node ${process.versions.node}`,
    config: [],
    command: anyCommand(label, [join(clone, 'bin', 'zabra'), 'server']),
    // Node reports its live heap only to an inspector, and opening one would change the
    // measurement.
    liveHeapMb: () => undefined,
  }
}
