import { spawnSync } from 'node:child_process'
import { freemem } from 'node:os'

const leftBytes = 2 * 2 ** 30

/**
 * Uses all free memory once. In a virtual machine that has just started, the first use of a page
 * takes the host ten times as long as the next one, and would be charged to the server that writes
 * the most files.
 */
export function touchMemory(): void {
  const bytes = freemem() - leftBytes
  if (bytes <= 0) return
  // In parts, in a process of its own: it gives everything back when it ends.
  const touch = `const kept = []; for (let left = ${bytes}; left > 0; left -= 2 ** 30) kept.push(Buffer.alloc(Math.min(left, 2 ** 30), 1))`
  spawnSync(process.execPath, ['-e', touch], { stdio: 'ignore' })
}
