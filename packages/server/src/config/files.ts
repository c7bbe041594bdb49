import { readFileSync } from 'node:fs'

/** The text of a file, or a sentence why there is none. */
export function readText(path: string): { text: string } | { problem: string; missing: boolean } {
  try {
    return { text: decode(readFileSync(path)) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const missing = code === 'ENOENT'
    return { problem: missing ? 'there is no such file' : `cannot be read (${code})`, missing }
  }
}

/** Java takes every file for Latin-1; people write UTF-8. Only what is not UTF-8 is taken as Java does. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('latin1').decode(bytes)
  }
}
