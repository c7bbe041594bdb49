/**
 * A disk does not keep what was written to it: a bit has flipped, sectors never arrived, or
 * what belonged elsewhere was written over them.
 *
 * A server that starts on such a disk has two choices: it comes to the very state it had, or it
 * refuses and says so. After a refusal the operator brings the file back from a copy.
 *
 * Two things cannot be noticed, so they stay as they are: the epoch files, which have no checksum,
 * and, unless the server noted how far its log goes when it stopped, the last write to the newest
 * log, which looks like one that a power failure cut short.
 */
import type { MemoryDisk } from '@zabra/core'
import { decodeText } from '@zabra/protocol'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import type { Recovery } from '../history/recorder.ts'
import type { Random } from '../world/random.ts'
import type { Fault } from './schedule.ts'

const sectorBytes = 512
const sectorsMax = 4

/** A stretch of a file that holds something else than was written to it. */
export interface Damage {
  readonly path: string
  readonly kind: DamageKind
  /** The result of the recovery before the damage. */
  readonly expected: Recovery
  /** Puts back what was there. */
  readonly mend: () => Promise<void>
}

type DamageKind = 'rot' | 'lost write' | 'misdirected write'

/** A server stops, or its power fails, and a file is damaged before it comes back. */
export function damage(cluster: Cluster, server: SimServer, { atMs, forMs, amount }: Fault): void {
  const { process, options, disk } = server
  // Without forced syncs, the end of a log may be gone after any crash.
  if (process?.isServing !== true || process.paused || !options.forceSync) return
  const { recorder } = cluster
  const { life } = server
  const random = cluster.random.fork(`damage at ${atMs}`)
  void (async () => {
    if (amount * 10 - Math.floor(amount * 10) < 0.5) await server.stop()
    else server.crash('power fails')
    // It may have met another fault while it stopped, and be back.
    if (server.life !== life || process.alive) return
    const expected = await recorder.recoverAside(server, disk.files.copy())
    // Damaged transactions cannot be read from the log later.
    if (expected !== undefined) {
      await recorder.readLog(disk.files, options.journal.logDir, expected.zxid)
    }
    const damaged = expected && (await damageOne(server, expected, random))
    if (damaged !== undefined) server.suffer(damaged)
    server.startLater(forMs)
  })()
}

async function damageOne(
  server: SimServer,
  expected: Recovery,
  random: Random,
): Promise<Damage | undefined> {
  const { files } = server.disk
  const paths = await pathsOf(server)
  if (paths.length === 0) return undefined
  const path = random.pick(paths)
  const content = files.content(path)
  const isNoted = isEndNoted(files, server, expected.zxid)
  const end = Math.min(content.length, isNoted ? Infinity : await soundEnd(server, path))
  const kind = random.weighted<DamageKind>({ rot: 4, 'lost write': 2, 'misdirected write': 2 })
  const replaced = stretchOf(content, end, kind, files.content(random.pick(paths)), random)
  if (replaced === undefined) return undefined
  const { at, bytes } = replaced
  const before = content.slice(at, at + bytes.length)
  if (Buffer.compare(before, bytes) === 0) return undefined
  await overwrite(files, path, at, bytes)
  return { path, kind, expected, mend: () => overwrite(files, path, at, before) }
}

async function pathsOf({ disk, options }: SimServer): Promise<string[]> {
  const { snapshotDir, logDir } = options.journal
  const paths: string[] = []
  for (const directory of new Set([snapshotDir, logDir])) {
    for (const { name } of await disk.files.list(directory)) {
      if (/^(log|snapshot)\.|^zabra\.extent$/.test(name)) paths.push(`${directory}/${name}`)
    }
  }
  return paths.toSorted()
}

/** Whether a file beside the snapshots says that nothing was logged after this. */
function isEndNoted(files: MemoryDisk, { options }: SimServer, zxid: bigint): boolean {
  const path = `${options.journal.snapshotDir}/zabra.extent`
  if (!files.has(path)) return false
  const note = `zxid=${zxid.toString(16).padStart(16, '0')} `
  return decodeText(files.content(path))
    .split('\n')
    .some((line) => line.includes(note) && line.includes(' closed=1 synced=1 '))
}

/** Up to where damage can be told from a write that a power failure cut short. */
async function soundEnd({ disk, options }: SimServer, path: string): Promise<number> {
  const { logDir } = options.journal
  const logs = (await disk.files.list(logDir)).filter(({ name }) => name.startsWith('log.'))
  const zxidOf = (name: string): bigint => BigInt(`0x${name.split('.')[1]}`)
  const newest = logs.toSorted((a, b) => (zxidOf(a.name) < zxidOf(b.name) ? -1 : 1)).at(-1)
  const isNewest = newest !== undefined && path === `${logDir}/${newest.name}`
  return isNewest ? (disk.lastWrites.get(path) ?? 0) : Infinity
}

function stretchOf(
  content: Uint8Array,
  end: number,
  kind: DamageKind,
  other: Uint8Array,
  random: Random,
): { at: number; bytes: Uint8Array } | undefined {
  if (end === 0) return undefined
  if (kind === 'rot') {
    const at = random.between(0, end - 1)
    return { at, bytes: Uint8Array.of(content[at]! ^ (1 << random.between(0, 7))) }
  }
  const at = Math.floor(random.between(0, end - 1) / sectorBytes) * sectorBytes
  const bytes = new Uint8Array(Math.min(end - at, sectorBytes * random.between(1, sectorsMax)))
  if (kind === 'misdirected write' && other.length > 0) {
    const from = Math.floor(random.between(0, other.length - 1) / sectorBytes) * sectorBytes
    bytes.set(other.subarray(from, from + bytes.length))
  }
  return { at, bytes }
}

async function overwrite(
  files: MemoryDisk,
  path: string,
  at: number,
  bytes: Uint8Array,
): Promise<void> {
  const file = await files.openWrite(path)
  await file.write(bytes, at)
  await file.sync()
  await file.close()
}
