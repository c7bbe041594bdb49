import { spawnSync } from 'node:child_process'
import { findApache, type ApacheRelease } from '../interop/src/apache.ts'
import { apacheCommand } from '../interop/src/commands.ts'
import type { ServerKind } from './server-kinds.ts'

/** Apache's server: 3.8 is Debian's package, 3.9 the official release. Installs it if missing. */
export async function findApacheServer(
  release: ApacheRelease,
  jvmFlags: readonly string[],
): Promise<ServerKind> {
  const apache = await findApache(release)
  if (!apache.ok) throw new Error(`NOTHING TO COMPARE WITH: ${apache.reason}`)
  return {
    label: 'apache',
    version: `Apache ZooKeeper ${apache.version} (${['java', ...jvmFlags].join(' ')})`,
    config: [],
    command: apacheCommand(apache, jvmFlags),
    liveHeapMb,
  }
}

/**
 * Counting the live objects forces a full collection; the last line of the output is their total
 * size.
 */
function liveHeapMb(pid: number): number | undefined {
  const { status, stdout } = spawnSync('jcmd', [String(pid), 'GC.class_histogram'], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  })
  const bytes = status === 0 ? /^Total\s+\d+\s+(\d+)/m.exec(stdout)?.[1] : undefined
  return bytes === undefined ? undefined : Number(bytes) / (1 << 20)
}
