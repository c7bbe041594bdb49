import { containerOwner, copyWords, type Writer } from '@zabra/protocol'
import { crc32OfView } from '../storage/checksum.ts'
import { field, isTtlOwner, statWireBytes } from './layout.ts'

/** The zxids and times of a node that is made. */
export function stampCreation(stat: DataView, at: number, zxid: bigint, time: bigint): void {
  stat.setBigInt64(at + field.czxid, zxid)
  stat.setBigInt64(at + field.ctime, time)
  // The others are the same; as halves, which cost less than bigints.
  copyWords(stat, at + field.czxid, stat, at + field.mzxid, 8)
  copyWords(stat, at + field.czxid, stat, at + field.pzxid, 8)
  copyWords(stat, at + field.ctime, stat, at + field.mtime, 8)
}

/** The stat's part of a node digest; its order is not that of the wire. */
export function statChecksum(stat: DataView, at: number, seed: number): number {
  let checksum = crc32OfView(stat, at + field.czxid, at + field.ctime, seed)
  checksum = crc32OfView(stat, at + field.pzxid, at + field.pzxid + 8, checksum)
  return crc32OfView(stat, at + field.ctime, at + field.dataLength, checksum)
}

/** Copies a stat and hides what never leaves the server. */
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
  // A session id of a server never starts with 0xff; 0x80 alone may be one (server 128).
  if (ownerTop === 0x80 || (ownerTop === 0xff && extendedTypes)) {
    const owner = stat.getBigInt64(at + field.owner)
    if (owner === containerOwner || (extendedTypes && isTtlOwner(owner))) {
      writer.intAt(position + field.owner, 0)
      writer.intAt(position + field.owner + 4, 0)
    }
  }
}
