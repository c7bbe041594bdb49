import { clip } from './clip.ts'
import type { Output } from './output.ts'

const escape = '\u001b['
const begin = `${escape}?1049h${escape}?25l`
const end = `${escape}?25h${escape}?1049l`
const home = `${escape}H`
const clearLine = `${escape}K`
const clearBelow = `${escape}J`

/**
 * Calls `frame` again and again. On a terminal the frames have a screen of their own, on which each
 * replaces the one before without a flicker; the last one stays when it ends. Elsewhere one follows
 * the other.
 */
export async function showLive(
  out: Output,
  { intervalMs, count, signal }: { intervalMs: number; count: number; signal: AbortSignal },
  frame: () => Promise<readonly string[] | undefined>,
): Promise<void> {
  const hasScreen = out.isTerminal && !out.json
  let last: readonly string[] = []
  let isOpen = false
  try {
    for (let shown = 0; shown < count && !signal.aborted; shown++) {
      const lines = await frame().catch((error: unknown) => {
        if (signal.aborted) return undefined
        throw error
      })
      if (lines !== undefined) {
        last = lines
        await out.drained()
        if (hasScreen) {
          out.write((isOpen ? '' : begin) + screenOf(lines, out))
          isOpen = true
        } else for (const line of lines) out.line(line)
      }
      if (shown + 1 < count) await pause(intervalMs, signal)
    }
  } finally {
    if (isOpen) out.write(`${end}${last.map((line) => `${line}\n`).join('')}`)
  }
}

function screenOf(lines: readonly string[], out: Output): string {
  const fitting = lines.slice(0, out.rows - 1).map((line) => clip(line, out.columns))
  return `${home}${fitting.map((line) => `${line}${clearLine}\n`).join('')}${clearBelow}`
}

/** Resolves after a time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const over = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    signal.addEventListener('abort', over)
  })
}
