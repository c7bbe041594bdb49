/**
 * How far the transaction logs go, noted in a file beside the snapshots.
 *
 *     zabra-extent 1 turn=0000002a zxid=00000001000003e8 log=0000000100000001 closed=0 synced=1 check=1f2e3d4c
 *
 * A log that was cut, emptied or lost looks like one that never held more; this note shows what is
 * missing. It is written after the transactions it counts are durable, and lowered before any are
 * cut off, so it never claims too much. It may claim a little too little: it is not written for each
 * transaction, and nobody waits for it.
 *
 * There are two lines, a sector each. A note replaces the older one, so a crash in the middle of
 * writing it leaves the other.
 */
import { decodeText, encodeText } from '@zabra/protocol'
import { adler32 } from '../../base/checksum.ts'
import { faultCode, type Disk, type WriteHandle } from '../../ports.ts'

export interface Extent {
  /** Everything up to this transaction is durable. */
  readonly zxid: bigint
  /** The first transaction of the log being written; undefined before the first append to one. */
  readonly log: bigint | undefined
  /** Nothing was logged after `zxid`. */
  readonly isClosed: boolean
  /** False without syncs (`forceSync=no`): a power failure may have lost any part of it. */
  readonly isSynced: boolean
}

/** An extent as it stands in the file. */
export interface NotedExtent extends Extent {
  /** Counts the notes of a directory. */
  readonly turn: number
}

export const extentName = 'zabra.extent'
const lineBytes = 512
const pattern =
  /^(zabra-extent 1 turn=([0-9a-f]{8}) zxid=([0-9a-f]{16}) log=([0-9a-f]{16}) closed=([01]) synced=([01])) check=([0-9a-f]{8}) *\n$/

/** The newest note of a directory; undefined if there is no readable one. */
export async function readExtent(disk: Disk, directory: string): Promise<NotedExtent | undefined> {
  const bytes = new Uint8Array(2 * lineBytes)
  try {
    const file = await disk.openRead(`${directory}/${extentName}`)
    try {
      await file.read(0, bytes)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return undefined
    throw error
  }
  const first = parseLine(bytes.subarray(0, lineBytes))
  const second = parseLine(bytes.subarray(lineBytes))
  if (first === undefined || second === undefined) return first ?? second
  return first.turn > second.turn ? first : second
}

/** Writes a note over the older one of the two; `newest` is the other one. */
export async function writeExtent(
  disk: Disk,
  directory: string,
  extent: Extent,
  { newest, isDurable }: { newest: NotedExtent | undefined; isDurable: boolean },
): Promise<NotedExtent> {
  const path = `${directory}/${extentName}`
  const noted = { ...extent, turn: (newest?.turn ?? 0) + 1 }
  const { file, isNew } = await openOrCreate(disk, path)
  try {
    await file.write(lineOf(noted), (noted.turn % 2) * lineBytes)
    if (isDurable) await file.sync()
  } finally {
    await file.close()
  }
  if (isNew && isDurable) await disk.syncDirectory(directory)
  return noted
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

function parseLine(bytes: Uint8Array): NotedExtent | undefined {
  const parts = pattern.exec(decodeText(bytes))
  if (parts === null) return undefined
  const [, line = '', turn = '', zxid = '', log = '', closed, synced, check] = parts
  if (check !== checkOf(line)) return undefined
  const firstOfLog = BigInt(`0x${log}`)
  return {
    turn: Number.parseInt(turn, 16),
    zxid: BigInt(`0x${zxid}`),
    log: firstOfLog === 0n ? undefined : firstOfLog,
    isClosed: closed === '1',
    isSynced: synced === '1',
  }
}

function lineOf({ turn, zxid, log = 0n, isClosed, isSynced }: NotedExtent): Uint8Array {
  const hex = (value: bigint | number, digits: number): string =>
    value.toString(16).padStart(digits, '0')
  const flag = (isSet: boolean): number => (isSet ? 1 : 0)
  const where = `turn=${hex(turn, 8)} zxid=${hex(zxid, 16)} log=${hex(log, 16)}`
  const line = `zabra-extent 1 ${where} closed=${flag(isClosed)} synced=${flag(isSynced)}`
  return encodeText(`${`${line} check=${checkOf(line)}`.padEnd(lineBytes - 1)}\n`)
}

function checkOf(line: string): string {
  const bytes = encodeText(line)
  return (adler32(bytes, 0, bytes.length) >>> 0).toString(16).padStart(8, '0')
}
