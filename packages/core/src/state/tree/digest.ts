/**
 * A sum modulo 2^64 of 32-bit node digests. It is kept in two halves so that adding allocates
 * nothing; the halves are signed because V8 allocates numbers above 2^31.
 */
export class TreeDigest {
  high = 0
  low = 0

  add(nodeDigest: number): void {
    this.low = (this.low + nodeDigest) | 0
    if (this.low >>> 0 < nodeDigest >>> 0) this.high = (this.high + 1) | 0
  }

  subtract(nodeDigest: number): void {
    if (this.low >>> 0 < nodeDigest >>> 0) this.high = (this.high - 1) | 0
    this.low = (this.low - nodeDigest) | 0
  }

  set(other: TreeDigest): void {
    this.high = other.high
    this.low = other.low
  }

  equals(other: TreeDigest): boolean {
    return this.high === other.high && this.low === other.low
  }

  get value(): bigint {
    return digestOf(this.high, this.low)
  }
}

/** The digest as one number. */
export function digestOf(high: number, low: number): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
}
