/** One `key=value` of a properties file; `line` is the line of its first character. */
export interface Property {
  readonly key: string
  /** As Java reads it: includes trailing blanks. */
  readonly value: string
  readonly line: number
}

export interface PropertiesProblem {
  readonly line: number
  readonly key: string | undefined
  readonly message: string
}

export interface ParsedProperties {
  /** In file order, with duplicates; the last of several equal keys counts. */
  readonly properties: readonly Property[]
  readonly problems: readonly PropertiesProblem[]
}

/** Reads the syntax of Java's `.properties` files, which is the syntax of zoo.cfg. */
export function parseProperties(text: string): ParsedProperties {
  const properties: Property[] = []
  const problems: PropertiesProblem[] = []
  for (const { content, line } of logicalLines(text)) {
    const { rawKey, rawValue } = splitAtSeparator(content)
    const key = unescape(rawKey)
    const value = unescape(rawValue)
    if (key === undefined || value === undefined) {
      const message = 'malformed \\u escape: four hexadecimal digits must follow'
      problems.push({ line, key, message })
    } else {
      properties.push({ key, value, line })
    }
  }
  return { properties, problems }
}

const leadingBlanks = /^[ \t\f]+/
const trailingBackslashes = /\\*$/

/** Joins continued lines and drops comments and empty lines. */
function* logicalLines(text: string): Generator<{ content: string; line: number }> {
  // A byte order mark would become part of the first key.
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  let content = ''
  let start = 0
  for (const [index, natural] of lines.entries()) {
    const stripped = natural.replace(leadingBlanks, '')
    // After a line that is a lone backslash nothing continues: the next line may be a comment.
    if (content === '') {
      if (stripped === '' || stripped.startsWith('#') || stripped.startsWith('!')) continue
      start = index + 1
    }
    const continued = trailingBackslashes.exec(stripped)![0].length % 2 === 1
    content += continued ? stripped.slice(0, -1) : stripped
    if (continued && index < lines.length - 1) continue
    if (content !== '') yield { content, line: start }
    content = ''
  }
}

/** The key ends at the first bare `=`, `:` or blank; blanks around the separator belong to it. */
function splitAtSeparator(content: string): { rawKey: string; rawValue: string } {
  const [, rawKey = '', rawValue = ''] =
    /^((?:\\[^]|[^=: \t\f\\])*)[ \t\f]*[=:]?[ \t\f]*([^]*)$/.exec(content) ?? []
  return { rawKey, rawValue }
}

const escapes: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' }

function unescape(raw: string): string | undefined {
  let malformed = false
  const text = raw.replace(/\\(?:u([0-9a-fA-F]{4})|([^])|$)/g, (_, hex?: string, char?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    if (char === 'u') malformed = true
    return char === undefined ? '' : (escapes[char] ?? char)
  })
  return malformed ? undefined : text
}
