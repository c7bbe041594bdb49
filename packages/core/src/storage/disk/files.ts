/** Names in a data directory: which files are logs, which are snapshots, and what they begin at. */
import type { Disk, FileEntry } from '../../ports.ts'
import { faultCode } from '../../ports.ts'

export interface StoredFile {
  readonly name: string
  readonly bytes: number
  readonly zxid: bigint
}

export type SnapshotCompression = 'plain' | 'gz' | 'snappy'

/** Files being made carry this in front, so that neither Apache nor we take them for finished. */
const unfinishedPrefix = 'new.'

export function logName(firstZxid: bigint): string {
  return `log.${firstZxid.toString(16)}`
}

export function snapshotName(zxid: bigint, compression: SnapshotCompression = 'plain'): string {
  const name = `snapshot.${zxid.toString(16)}`
  return compression === 'plain' ? name : `${name}.${compression}`
}

export function unfinishedName(name: string): string {
  return unfinishedPrefix + name
}

/** Leftovers of an interrupted write, by zabra or Apache. */
export function isLeftover(name: string): boolean {
  return /^new\.(log|snapshot)\./.test(name) || /^snapshot\..*\.tmp$/.test(name)
}

export function compressionOf(name: string): SnapshotCompression {
  if (name.endsWith('.gz')) return 'gz'
  return name.endsWith('.snappy') ? 'snappy' : 'plain'
}

/** Logs in ascending order of the zxid of their first record. */
export function logsAmong(entries: readonly FileEntry[]): StoredFile[] {
  return storedAmong(entries, /^log\.([0-9a-f]{1,16})$/i)
}

/** Snapshots in ascending order of the zxid they are named after. */
export function snapshotsAmong(entries: readonly FileEntry[]): StoredFile[] {
  return storedAmong(entries, /^snapshot\.([0-9a-f]{1,16})(?:\.gz|\.snappy)?$/i)
}

/** Files whose name ends in a zxid, the first group of the pattern; in ascending order of it. */
export function storedAmong(entries: readonly FileEntry[], pattern: RegExp): StoredFile[] {
  const files: StoredFile[] = []
  for (const { name, bytes } of entries) {
    const zxid = pattern.exec(name)?.[1]
    if (zxid !== undefined) files.push({ name, bytes, zxid: BigInt(`0x${zxid}`) })
  }
  return files.toSorted((a, b) => (a.zxid < b.zxid ? -1 : a.zxid > b.zxid ? 1 : 0))
}

/** The newest of ascending files that begins at or below a zxid: where reading from there starts. */
export function indexCovering(files: readonly StoredFile[], zxid: bigint): number {
  let covering = 0
  for (let i = 0; i < files.length; i++) if (files[i]!.zxid <= zxid) covering = i
  return covering
}

/** The files of a directory; none when it is not there. */
export async function listIfThere(disk: Disk, directory: string): Promise<FileEntry[]> {
  try {
    return await disk.list(directory)
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return []
    throw error
  }
}
