import { containerOwner, type Writer } from '@zabra/protocol'
import { crc32OfView, CrcWord } from '../../base/checksum.ts'
import { field, isTtlOwner, statWireBytes } from './layout.ts'

/**
 * Caches the halves of 64-bit values. The same few values are written many times, and writing a
 * bigint is slow.
 */
class Halves {
  high = 0
  low = 0
  private value = 0n
  private readonly view = new DataView(new ArrayBuffer(8))

  of(value: bigint): this {
    if (value === this.value) return this
    this.value = value
    this.view.setBigInt64(0, value)
    this.high = this.view.getInt32(0)
    this.low = this.view.getInt32(4)
    return this
  }
}
const zxids = new Halves()
const times = new Halves()

/** The halves of a zxid; valid until the next call with another zxid. */
export function halvesOfZxid(zxid: bigint): { readonly high: number; readonly low: number } {
  return zxids.of(zxid)
}

/** Writes one of the zxids of a stat; `at` is the offset in the view. */
export function writeZxid(stat: DataView, at: number, zxid: bigint): void {
  const { high, low } = zxids.of(zxid)
  stat.setInt32(at, high)
  stat.setInt32(at + 4, low)
}

export function writeTime(stat: DataView, at: number, time: bigint): void {
  const { high, low } = times.of(time)
  stat.setInt32(at, high)
  stat.setInt32(at + 4, low)
}

/**
 * Writes the stat of a new node without owner; the fields about its data are left to the caller.
 */
export function stampCreation(stat: DataView, at: number, zxid: bigint, time: bigint): void {
  const { high, low } = zxids.of(zxid)
  const { high: timeHigh, low: timeLow } = times.of(time)
  stat.setInt32(at + field.czxid, high)
  stat.setInt32(at + field.czxid + 4, low)
  stat.setInt32(at + field.mzxid, high)
  stat.setInt32(at + field.mzxid + 4, low)
  stat.setInt32(at + field.ctime, timeHigh)
  stat.setInt32(at + field.ctime + 4, timeLow)
  stat.setInt32(at + field.mtime, timeHigh)
  stat.setInt32(at + field.mtime + 4, timeLow)
  stat.setInt32(at + field.version, 0)
  stat.setInt32(at + field.cversion, 0)
  stat.setInt32(at + field.aversion, 0)
  stat.setInt32(at + field.owner, 0)
  stat.setInt32(at + field.owner + 4, 0)
  stat.setInt32(at + field.numChildren, 0)
  stat.setInt32(at + field.pzxid, high)
  stat.setInt32(at + field.pzxid + 4, low)
}

/** The stat's part of a node digest. It uses an order of its own, not wire order. */
export function statChecksum(stat: DataView, at: number, seed: number): number {
  let checksum = crc32OfView(stat, at + field.czxid, at + field.ctime, seed)
  checksum = crc32OfView(stat, at + field.pzxid, at + field.pzxid + 8, checksum)
  return crc32OfView(stat, at + field.ctime, at + field.dataLength, checksum)
}

// In digest order: czxid, mzxid, pzxid, ctime, mtime, version, cversion, aversion, owner.
const digestedBytes = 60
const afterPzxid = 36
const afterCversion = 12
const seedWord = new CrcWord(digestedBytes - 4)
const pzxidWord = new CrcWord(afterPzxid)
const cversionWord = new CrcWord(afterCversion)
const createdZxidWord = new CrcWord(afterPzxid)
  .alsoBefore(afterPzxid + 8)
  .alsoBefore(afterPzxid + 16)

/** The parts of the last creation checksum that do not depend on the lower halves of the zxids. */
const creation = {
  checksum: 0,
  zxidHigh: -1,
  time: -1n,
  stat: new DataView(new ArrayBuffer(statWireBytes)),
}

/** The checksum of the stat that `stampCreation` writes; cheaper than `statChecksum`. */
export function creationChecksum(zxid: bigint, time: bigint, seed: number): number {
  const { high, low } = zxids.of(zxid)
  if (high !== creation.zxidHigh || time !== creation.time) {
    creation.zxidHigh = high
    creation.time = time
    stampCreation(creation.stat, 0, zxid, time)
    creation.checksum = ~statChecksum(creation.stat, 0, ~0) ^ createdZxidWord.of(low)
  }
  return ~(creation.checksum ^ createdZxidWord.of(low) ^ seedWord.of(swapped(~seed)))
}

/**
 * Raises the counter of children and the pzxid in a stat. Returns the new digest, computed from the
 * previous one and the difference; undefined if the pzxid changed too much, so that the digest must
 * be computed from the whole stat.
 */
export function raiseChildCounter(
  stat: DataView,
  at: number,
  createCount: number,
  zxid: bigint,
  digest: number,
): number | undefined {
  const countBefore = stat.getInt32(at + field.cversion)
  const highBefore = stat.getInt32(at + field.pzxid)
  const lowBefore = stat.getInt32(at + field.pzxid + 4)
  const { high, low } = zxids.of(zxid)
  stat.setInt32(at + field.cversion, createCount)
  stat.setInt32(at + field.pzxid, high)
  stat.setInt32(at + field.pzxid + 4, low)
  if (high !== highBefore) return undefined
  return digest ^ cversionWord.of(countBefore ^ createCount) ^ pzxidWord.of(lowBefore ^ low)
}

/** Swaps the bytes: a checksum processes the lowest byte first. */
function swapped(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}

/** Copies a stat and removes what only the server may know. */
export function writeWireStat(
  writer: Writer,
  stat: DataView,
  at: number,
  extendedTypes: boolean,
): void {
  const { position } = writer
  writer.rawView(stat, at, at + statWireBytes)
  const creates = stat.getInt32(at + field.cversion)
  const children = stat.getInt32(at + field.numChildren)
  writer.intAt(position + field.cversion, (Math.imul(2, creates) - children) | 0)
  const ownerTop = stat.getUint8(at + field.owner)
  // The session id of a server never starts with 0xff, and 0x80 only occurs with server 128.
  if (ownerTop === 0x80 || (ownerTop === 0xff && extendedTypes)) {
    const owner = stat.getBigInt64(at + field.owner)
    if (owner === containerOwner || (extendedTypes && isTtlOwner(owner))) {
      writer.intAt(position + field.owner, 0)
      writer.intAt(position + field.owner + 4, 0)
    }
  }
}
