/**
 * The keys that transactions are found by: each transaction has a key for every path that it
 * changes, for every ancestor of these, and for its session. They are read from the bytes of a
 * logged transaction, because indexing must cost much less than the write.
 */
import { codes, encodeText, type Reader } from '@zabra/protocol'

const slash = 0x2f
const typeAt = 28
const bodyAt = 32
const digestBytes = 12
const start = 0x811c9dc5
const prime = 0x01000193
const exact = 0x9e3779b1
const below = 0x85ebca6b
const ofSession = 0x27d4eb2f

/** The key of the transactions that change this znode. */
export function pathKey(path: string): number {
  const bytes = encodeText(path)
  return mix(hashOf(bytes, 0, bytes.length), exact)
}

/** The key of the transactions that change this znode or one below it. */
export function subtreeKey(path: string): number {
  const bytes = encodeText(path)
  return mix(hashOf(bytes, 0, bytes.length), below)
}

export function sessionKey(session: bigint): number {
  const low = Number(BigInt.asIntN(32, session))
  return mix(Math.imul(low ^ Number(BigInt.asIntN(32, session >> 32n)), prime) ^ low, ofSession)
}

/** Adds the keys of a transaction; false if it does not name everything that it changes. */
export function addKeys({ view, bytes, position, end }: Reader, keys: Set<number>): boolean {
  const low = view.getInt32(position + 4)
  keys.add(mix(Math.imul(low ^ view.getInt32(position), prime) ^ low, ofSession))
  return addBodyKeys(view, bytes, view.getInt32(position + typeAt), position + bodyAt, end, keys)
}

function addBodyKeys(
  view: DataView,
  bytes: Uint8Array,
  type: number,
  at: number,
  end: number,
  keys: Set<number>,
): boolean {
  switch (type) {
    case codes.createSession:
    case codes.error:
    case codes.check:
      return true
    case codes.multi: {
      let part = at + 4
      let isComplete = true
      for (let left = view.getInt32(at); left > 0 && part + 8 <= end; left--) {
        const partEnd = part + 8 + view.getInt32(part + 4)
        if (partEnd > end) return false
        isComplete =
          addBodyKeys(view, bytes, view.getInt32(part), part + 8, partEnd, keys) && isComplete
        part = partEnd
      }
      return isComplete
    }
    case codes.closeSession: {
      // Before 3.6 the end of a session does not list its ephemerals; only the tree has them.
      if (end - at === 0 || (end - at === digestBytes && view.getInt32(at) === 2)) return false
      let path = at + 4
      for (let left = view.getInt32(at); left > 0 && path + 4 <= end; left--) {
        const length = view.getInt32(path)
        addPathKeys(bytes, path + 4, Math.min(end, path + 4 + length), keys)
        path += 4 + length
      }
      return true
    }
    default: {
      const length = view.getInt32(at)
      if (length < 0 || at + 4 + length > end) return false
      addPathKeys(bytes, at + 4, at + 4 + length, keys)
      return true
    }
  }
}

function addPathKeys(bytes: Uint8Array, from: number, end: number, keys: Set<number>): void {
  let hash = start
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!
    if (byte === slash && at > from) keys.add(mix(hash, below))
    hash = Math.imul(hash ^ byte, prime)
  }
  keys.add(mix(hash, below))
  keys.add(mix(hash, exact))
}

function hashOf(bytes: Uint8Array, from: number, end: number): number {
  let hash = start
  for (let at = from; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, prime)
  return hash
}

function mix(hash: number, salt: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 15) ^ salt, 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) | 0
}
