/** Has the next chunk read while the last one is being worked on. */
export class ReadAhead {
  private readonly source: (into: Uint8Array) => Promise<number>
  private readonly chunk: Uint8Array
  private pending: Promise<number> | undefined
  private taken = 0

  constructor(source: (into: Uint8Array) => Promise<number>, chunkBytes: number) {
    this.source = source
    this.chunk = new Uint8Array(chunkBytes)
  }

  async read(into: Uint8Array): Promise<number> {
    const have = await (this.pending ??= this.source(this.chunk))
    const count = Math.min(into.length, have - this.taken)
    into.set(this.chunk.subarray(this.taken, this.taken + count))
    this.taken += count
    if (this.taken === have && have > 0) {
      this.taken = 0
      this.pending = this.source(this.chunk)
      // The next read reports the error, if there is one.
      this.pending.catch(() => {})
    }
    return count
  }

  /** Nothing is being read any more. */
  async settled(): Promise<void> {
    await this.pending?.catch(() => {})
  }
}
