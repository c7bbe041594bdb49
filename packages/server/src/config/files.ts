import { readFileSync } from 'node:fs'

/** The text of a file, or a sentence why it cannot be read. */
export function readText(path: string): { text: string } | { problem: string; missing: boolean } {
  try {
    return { text: decode(readFileSync(path)) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const missing = code === 'ENOENT'
    return { problem: missing ? 'there is no such file' : `cannot be read (${code})`, missing }
  }
}

/**
 * Java reads every file as Latin-1, while people write UTF-8. Only invalid UTF-8 is read as
 * Latin-1.
 */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('latin1').decode(bytes)
  }
}
