const slabBytes = 256 * 1024
const sharedBytesMax = 32 * 1024

/**
 * Copies of bytes that must outlive the chunk they were received in. Short ones share a slab,
 * which goes when the last of them is gone: a copy then costs hardly more than the copying.
 */
export class ByteKeeper {
  private slab = new Uint8Array(0)
  private used = 0

  keep(bytes: Uint8Array): Uint8Array {
    const { length } = bytes
    // Not `slice`: where the bytes are a Buffer it would share them.
    if (length > sharedBytesMax) return new Uint8Array(bytes)
    if (this.used + length > this.slab.length) {
      this.slab = new Uint8Array(slabBytes)
      this.used = 0
    }
    const kept = this.slab.subarray(this.used, this.used + length)
    kept.set(bytes)
    this.used += length
    return kept
  }
}
