import type { Output } from '../output/output.ts'
import { hasControls } from '../output/visible.ts'
import { textOf } from './data.ts'

/** Prints data: for people on a terminal, as they are elsewhere. */
export async function showData(data: Uint8Array, out: Output): Promise<void> {
  if (!out.isTerminal) {
    out.write(data)
    out.write('\n')
    return
  }
  const text = textOf(data)
  if (text === undefined || hasControls(text)) {
    const { hexDump } = await import('../output/hex-dump.ts')
    out.write(hexDump(data))
    return
  }
  const { prettyJson } = await import('../output/colored-json.ts')
  out.line(prettyJson(text, out.style) ?? text)
}
