import { readdir, readFile } from 'node:fs/promises'

/** Number of open files and sockets, and its limit; undefined if the system does not say. */
export async function fileDescriptors(): Promise<{ open: number; max: number } | undefined> {
  try {
    const [open, limits] = await Promise.all([
      readdir('/proc/self/fd'),
      readFile('/proc/self/limits', 'utf8'),
    ])
    const max = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
    return { open: open.length, max: max === undefined || max === 'unlimited' ? -1 : Number(max) }
  } catch {
    return undefined
  }
}
