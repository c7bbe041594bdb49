import { createHash } from 'node:crypto'

/** A written file: its size and digest. */
export interface Written {
  readonly bytes: number
  readonly sha256: string
}

/** Where a backup goes. It exists once `commit` has resolved, and not before. */
export interface BackupTarget {
  /** `bytes`: how long it is going to be. */
  write(
    name: string,
    bytes: number,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Written>
  commit(): Promise<void>
  /** Undoes what was written; false where that is impossible. */
  abandon(): Promise<boolean>
}

/** Passes bytes on to `put`, and says what they were. */
export async function measured(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  put: (chunk: Uint8Array) => Promise<void>,
): Promise<Written> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of chunks) {
    hash.update(chunk)
    bytes += chunk.length
    await put(chunk)
  }
  return { bytes, sha256: hash.digest('hex') }
}
