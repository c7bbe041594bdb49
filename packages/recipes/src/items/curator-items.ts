import type { Codec } from '@zabra/client'

/** The version of the format; then come an item, with its length, and the end. */
const version = 0x00010001
const itemMark = 1
const endMark = 2
const headBytes = 9

/** The data of a node as Curator's queues write it: one item, which has the given codec. */
export function curatorItem<T>(codec: Codec<T>): Codec<T> {
  return {
    encode(value) {
      const item = codec.encode(value)
      const bytes = new Uint8Array(headBytes + item.length + 1)
      const view = new DataView(bytes.buffer)
      view.setInt32(0, version)
      view.setUint8(4, itemMark)
      view.setInt32(5, item.length)
      bytes.set(item, headBytes)
      view.setUint8(headBytes + item.length, endMark)
      return bytes
    },
    decode(bytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      const isItem =
        bytes.length > headBytes && view.getInt32(0) === version && view.getUint8(4) === itemMark
      const end = isItem ? headBytes + view.getInt32(5) : 0
      if (!isItem || view.getInt32(5) < 0 || end >= bytes.length)
        throw new RangeError('the data is not an item of a queue of Curator')
      if (view.getUint8(end) !== endMark)
        throw new RangeError('the node has several items, as putMulti of Curator makes them')
      return codec.decode(bytes.subarray(headBytes, end))
    },
  }
}
