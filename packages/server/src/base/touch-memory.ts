import { openSync, read } from 'node:fs'

const zeros = '/dev/zero'
let file: number | undefined
let isMissing = false

/**
 * Memory touched by a thread of the pool, which reads zeros into it. Where there is no file of
 * them, as on Windows, memory stays untouched until it is needed.
 */
export function touchMemory(memory: Uint8Array, done: () => void): void {
  openZeros()
  if (file === undefined) done()
  else read(file, memory, 0, memory.length, null, () => done())
}

/** Once, and never closed: it belongs to no server but to the process. */
function openZeros(): void {
  if (file !== undefined || isMissing) return
  try {
    file = openSync(zeros, 'r')
  } catch {
    isMissing = true
  }
}
