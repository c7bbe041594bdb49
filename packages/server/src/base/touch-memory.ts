import { openSync, read } from 'node:fs'

const zeros = '/dev/zero'
let file: number | undefined
let isMissing = false

/**
 * Memory touched by a thread of the pool, which reads zeros into it. Without /dev/zero, as on
 * Windows, memory stays untouched until it is needed.
 */
export function touchMemory(memory: Uint8Array, done: () => void): void {
  openZeros()
  if (file === undefined) done()
  else read(file, memory, 0, memory.length, null, () => done())
}

/** Opened once and never closed: it belongs to the process, not to a server. */
function openZeros(): void {
  if (file !== undefined || isMissing) return
  try {
    file = openSync(zeros, 'r')
  } catch {
    isMissing = true
  }
}
