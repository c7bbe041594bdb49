import type { Style } from './style.ts'

/** JSON for people: indented, with keys, texts and numbers in colors of their own. */
export function coloredJson(value: unknown, style: Style, indent = 2): string {
  const text = JSON.stringify(value, undefined, indent) ?? 'null'
  return style.isOn ? colorJsonText(text, style) : text
}

const tokens =
  /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g

/** Colors JSON as it is written. */
function colorJsonText(text: string, style: Style): string {
  return text.replaceAll(
    tokens,
    (all, string?: string, colon?: string, word?: string, number?: string) => {
      if (string !== undefined)
        return colon === undefined ? style.green(string) : style.blue(string) + colon
      if (word !== undefined) return style.magenta(word)
      return number === undefined ? all : style.cyan(number)
    },
  )
}

/**
 * A text that is a JSON object or list, indented and in color; undefined where it is something else.
 * Numbers keep their digits: what was written is colored, not what was parsed.
 */
export function prettyJson(text: string, style: Style): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return colorJsonText(indented(text), style)
}

/** The same tokens, each entry on a line of its own. */
function indented(text: string): string {
  const pieces = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? []
  let depth = 0
  let result = ''
  const lineFeed = (): string => `\n${'  '.repeat(depth)}`
  for (const [index, piece] of pieces.entries()) {
    const next = pieces[index + 1]
    if (piece === '{' || piece === '[') {
      const isEmpty = next === '}' || next === ']'
      if (!isEmpty) depth++
      result += piece + (isEmpty ? '' : lineFeed())
    } else if (piece === '}' || piece === ']') {
      const before = pieces[index - 1]
      if (before !== '{' && before !== '[') {
        depth--
        result += lineFeed()
      }
      result += piece
    } else if (piece === ',') result += piece + lineFeed()
    else if (piece === ':') result += ': '
    else result += piece
  }
  return result
}
