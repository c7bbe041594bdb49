import { createHash } from 'node:crypto'

/** A file of transactions, in the format of ZooKeeper's logs. */
export interface LogPart {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly transactions: number
  readonly first: string
  readonly last: string
  readonly firstTime: string
  readonly lastTime: string
}

export interface SnapshotPart {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  /** The last transaction that it contains completely. */
  readonly zxid: string
  /**
   * It may contain effects of transactions up to this one, so a restore is exact only from here on.
   */
  readonly reaches: string
  /** The time of that transaction, if this backup contains its record. */
  readonly reachesTime: string | null
}

/** The content of a backup, in `manifest.json`, for people and for `zabra`. */
export interface Manifest {
  readonly zabra: 'backup'
  readonly version: 1
  readonly number: number
  readonly kind: 'full' | 'log'
  /** Everything committed before this time is in this backup and the previous ones. */
  readonly takenAt: string
  readonly source: string
  readonly writtenBy: string
  /** The previous backup. */
  readonly previous: { readonly folder: string; readonly sha256: string } | null
  /** Whether its transactions continue those of the previous backup without a gap. */
  readonly continues: boolean
  /** Backups with a lower number are no longer needed. */
  readonly keepsFrom: number
  readonly snapshot: SnapshotPart | null
  readonly logs: readonly LogPart[]
  readonly last: {
    readonly zxid: string
    readonly time: string | null
    /** The checksum of its record in the log, which shows whether a server has the same history. */
    readonly checksum: string | null
    /** The digest of the tree after it, as the server recorded it. */
    readonly digest: string | null
  }
}

export const manifestName = 'manifest.json'
/**
 * In the format of `sha256sum`, so that `sha256sum -c SHA256SUMS` checks a backup without zabra.
 */
export const sumsName = 'SHA256SUMS'

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** The names of a backup's data files. */
export function partsOf({ snapshot, logs }: Manifest): readonly (SnapshotPart | LogPart)[] {
  return snapshot === null ? logs : [snapshot, ...logs]
}

/** Reads a manifest; the error message completes a sentence that begins with the file name. */
export function parseManifest(text: string): Manifest {
  let said: Partial<Manifest> | null
  try {
    said = JSON.parse(text) as Partial<Manifest> | null
  } catch {
    throw new Error('it is not JSON')
  }
  if (said?.zabra !== 'backup') throw new Error('it does not describe a backup of zabra')
  if ((said.version as number) !== 1)
    throw new Error(`version ${String(said.version)} of the format is not known here`)
  const { number, kind, takenAt, logs, snapshot, last, keepsFrom } = said
  const isWhole =
    Number.isSafeInteger(number) &&
    (kind === 'full' || kind === 'log') &&
    !Number.isNaN(Date.parse(takenAt ?? '')) &&
    Number.isSafeInteger(keepsFrom) &&
    Array.isArray(logs) &&
    logs.every(isPart) &&
    (kind === 'full' ? isPart(snapshot) && isZxid(snapshot?.reaches) : snapshot === null) &&
    isZxid(last?.zxid)
  if (!isWhole) throw new Error('something that belongs in it is missing')
  // Else a damaged number would make every backup look removed, this one included.
  if (keepsFrom! > number!) throw new Error('it does not keep itself')
  return said as Manifest
}

function isPart(part: Partial<LogPart> | null | undefined): boolean {
  const { name, bytes, sha256 } = part ?? {}
  return typeof name === 'string' && typeof bytes === 'number' && typeof sha256 === 'string'
}

function isZxid(text: unknown): boolean {
  return typeof text === 'string' && /^0x[0-9a-f]{1,16}$/.test(text)
}

export type Sums = ReadonlyMap<string, string>

export function sumsText(sums: Sums): string {
  return [...sums].map(([name, sha256]) => `${sha256}  ${name}\n`).join('')
}

/** Undefined if the text is not exactly what `sumsText` writes. */
export function parseSums(text: string): Sums | undefined {
  const sums = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, sha256, name] = /^([0-9a-f]{64}) {2}([\w.-]+)$/.exec(line) ?? []
    if (sha256 !== undefined && name !== undefined) sums.set(name, sha256)
  }
  return sumsText(sums) === text && sums.size > 0 ? sums : undefined
}

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** `000002-20260131T090000Z-log`. */
export function folderName(number: number, takenAt: string, kind: Manifest['kind']): string {
  const time = takenAt.replaceAll(/[-:]|\.\d+/g, '')
  return `${String(number).padStart(6, '0')}-${time}-${kind}`
}

export const folderPattern = /^(\d{6,})-\d{8}T\d{6}Z-(full|log)$/
