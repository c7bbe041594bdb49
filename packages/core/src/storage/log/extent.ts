/**
 * How far the transaction logs go, noted in a file beside the snapshots.
 *
 *     zabra-extent 1 zxid=00000001000003e8 log=0000000100000001 closed=0 synced=1 check=1f2e3d4c
 *
 * A log that was cut, emptied or lost looks like one that never held more; this note shows what is
 * missing. It is written after the transactions it counts are durable, and lowered before any are
 * cut off, so it never claims too much. It may claim a little too little: it is not written for each
 * transaction, and nobody waits for it.
 */
import { decodeText, encodeText } from '@zabra/protocol'
import { adler32 } from '../../base/checksum.ts'
import { faultCode, type Disk, type WriteHandle } from '../../ports.ts'

export interface Extent {
  /** Everything up to this transaction was durable. */
  readonly zxid: bigint
  /** The first transaction of the log being written; undefined before the first append to one. */
  readonly log: bigint | undefined
  /** Nothing was logged after `zxid`. */
  readonly isClosed: boolean
  /** False where nothing was synced (`forceSync=no`): a loss of power may have taken any of it. */
  readonly isSynced: boolean
}

export const extentName = 'zabra.extent'
const pattern =
  /^(zabra-extent 1 zxid=([0-9a-f]{16}) log=([0-9a-f]{16}) closed=([01]) synced=([01])) check=([0-9a-f]{8})\n$/
/** Twice as long as any that is written. */
const bytesMax = 256

/** The note of a directory; undefined where there is none, or none that can be read. */
export async function readExtent(disk: Disk, directory: string): Promise<Extent | undefined> {
  let text: string
  try {
    const file = await disk.openRead(`${directory}/${extentName}`)
    try {
      const bytes = new Uint8Array(Math.min(file.bytes, bytesMax))
      text = decodeText(bytes.subarray(0, await file.read(0, bytes)))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return undefined
    throw error
  }
  const [, line = '', zxid = '', log = '', closed, synced, check] = pattern.exec(text) ?? []
  if (check !== checkOf(line)) return undefined
  const firstOfLog = BigInt(`0x${log}`)
  return {
    zxid: BigInt(`0x${zxid}`),
    log: firstOfLog === 0n ? undefined : firstOfLog,
    isClosed: closed === '1',
    isSynced: synced === '1',
  }
}

/** Writes the note in place: it always has the same length, and lies within one sector. */
export async function writeExtent(
  disk: Disk,
  directory: string,
  extent: Extent,
  isDurable: boolean,
): Promise<void> {
  const path = `${directory}/${extentName}`
  const { file, isNew } = await openOrCreate(disk, path)
  try {
    await file.write(encodeText(textOf(extent)), 0)
    if (isDurable) await file.sync()
  } finally {
    await file.close()
  }
  if (isNew && isDurable) await disk.syncDirectory(directory)
}

async function openOrCreate(
  disk: Disk,
  path: string,
): Promise<{ file: WriteHandle; isNew: boolean }> {
  try {
    return { file: await disk.openWrite(path), isNew: false }
  } catch (error) {
    if (faultCode(error) !== 'ENOENT') throw error
    return { file: await disk.create(path), isNew: true }
  }
}

function textOf({ zxid, log = 0n, isClosed, isSynced }: Extent): string {
  const hex = (value: bigint): string => value.toString(16).padStart(16, '0')
  const flag = (isSet: boolean): number => (isSet ? 1 : 0)
  const line = `zabra-extent 1 zxid=${hex(zxid)} log=${hex(log)} closed=${flag(isClosed)} synced=${flag(isSynced)}`
  return `${line} check=${checkOf(line)}\n`
}

function checkOf(line: string): string {
  const bytes = encodeText(line)
  return (adler32(bytes, 0, bytes.length) >>> 0).toString(16).padStart(8, '0')
}
