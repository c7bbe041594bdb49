import { readFile } from 'node:fs/promises'
import { UsageError } from '../framework/errors.ts'
import type { Io } from '../framework/io.ts'

/** All of stdin. */
async function readStdin(io: Io): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

/** The content of a file; `-` is stdin. */
export function readInput(file: string, io: Io): Promise<Uint8Array> {
  return file === '-' ? readStdin(io) : readFile(file)
}

/** Data as a command gets them: as an argument, from `--file`, or from stdin where it is `-`. */
export async function givenData(
  data: string | undefined,
  file: string | undefined,
  io: Io,
): Promise<Uint8Array | undefined> {
  if (data !== undefined && file !== undefined) throw new UsageError('DATA or --file, not both')
  if (file !== undefined) return readInput(file, io)
  if (data === '-') return readStdin(io)
  return data === undefined ? undefined : Buffer.from(data)
}
