/** A sum modulo 2^64 of 32-bit node digests, kept in halves so that adding allocates nothing. */
export class TreeDigest {
  high = 0
  low = 0

  add(nodeDigest: number): void {
    this.low += nodeDigest >>> 0
    if (this.low > 0xffffffff) {
      this.low -= 0x100000000
      this.high = (this.high + 1) >>> 0
    }
  }

  subtract(nodeDigest: number): void {
    this.low -= nodeDigest >>> 0
    if (this.low < 0) {
      this.low += 0x100000000
      this.high = (this.high - 1) >>> 0
    }
  }

  set(other: TreeDigest): void {
    this.high = other.high
    this.low = other.low
  }

  equals(other: TreeDigest): boolean {
    return this.high === other.high && this.low === other.low
  }

  get value(): bigint {
    return (BigInt(this.high) << 32n) | BigInt(this.low)
  }
}
