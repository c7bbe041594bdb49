import { once } from 'node:events'
import { createGunzip, createGzip, type Gunzip, type Gzip } from 'node:zlib'
import { MalformedError } from '@zabra/protocol'
import type { Compression, Transform } from '@zabra/core'

/** Gzip for snapshots. The work is done in the thread pool, not on the loop. */
export const zlibCompression: Compression = {
  gzip: () => new ZlibTransform(createGzip({ level: 1 })),
  gunzip: () => new ZlibTransform(createGunzip()),
}

class ZlibTransform implements Transform {
  private readonly stream: Gzip | Gunzip
  private output: Buffer[] = []
  private failure: Error | undefined

  constructor(stream: Gzip | Gunzip) {
    this.stream = stream
    stream.on('data', (chunk: Buffer) => this.output.push(chunk))
    stream.on('error', (error) => (this.failure = error))
  }

  async push(bytes: Uint8Array): Promise<Uint8Array> {
    this.throwFailure()
    // A copy: the caller reuses its bytes, while zlib may still be reading them.
    await new Promise<void>((resolve) => {
      this.stream.write(Buffer.from(bytes), () => resolve())
    })
    return this.take()
  }

  async end(): Promise<Uint8Array> {
    this.throwFailure()
    const ended = once(this.stream, 'end').catch(() => {})
    this.stream.end()
    await ended
    return this.take()
  }

  close(): void {
    this.stream.destroy()
  }

  private take(): Uint8Array {
    this.throwFailure()
    const output = Buffer.concat(this.output)
    this.output = []
    return output
  }

  private throwFailure(): void {
    if (this.failure === undefined) return
    throw new MalformedError(`it cannot be decompressed: ${this.failure.message}`, {
      cause: this.failure,
    })
  }
}
