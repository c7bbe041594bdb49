import type { Output } from './output.ts'

const clear = '\u001b[2J\u001b[H'

/**
 * Calls `frame` again and again. On a terminal each frame replaces the one before; elsewhere one
 * follows the other.
 */
export async function showLive(
  out: Output,
  { intervalMs, count, signal }: { intervalMs: number; count: number; signal: AbortSignal },
  frame: () => Promise<readonly string[] | undefined>,
): Promise<void> {
  for (let shown = 0; shown < count && !signal.aborted; shown++) {
    const lines = await frame()
    if (lines !== undefined) {
      if (out.isTerminal) out.write(clear + lines.slice(0, out.rows - 1).join('\n') + '\n')
      else for (const line of lines) out.line(line)
    }
    if (shown + 1 < count) await pause(intervalMs, signal)
  }
}

/** Resolves after a time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
