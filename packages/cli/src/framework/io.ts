import type { Readable, Writable } from 'node:stream'

/** The world of a command: a process, a test, or the shell. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & {
    readonly isTTY?: boolean
    readonly columns?: number | undefined
    readonly rows?: number
  }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number | undefined }
  readonly env: Readonly<Record<string, string | undefined>>
}

export const processIo: Io = process
