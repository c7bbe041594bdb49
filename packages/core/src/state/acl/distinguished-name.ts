/** The attribute names that Java knows. */
const keywords: ReadonlySet<string> = new Set(
  (
    'CN C L S ST O OU T IP STREET DC DNQUALIFIER DNQ SURNAME GIVENNAME INITIALS GENERATION EMAIL ' +
    'EMAILADDRESS UID SERIALNUMBER'
  ).split(' '),
)
const mustBeEscaped = ',+<>;"'
const mayBeEscaped = ',=\n+<>#;\\" '

/** Whether Java accepts the text as the name of a subject (`new X500Principal(text)`). */
export function isDistinguishedName(text: string): boolean {
  if (text === '') return true
  return split(text, ',;').every((part) => split(part, '+').every(isAttribute))
}

/** Splits at the separators that are outside quotes and not escaped by a backslash. */
function split(text: string, separators: string): string[] {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '\\') i++
    else if (char === '"') isQuoted = !isQuoted
    else if (!isQuoted && separators.includes(char)) {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  return [...parts, text.slice(start)]
}

function isAttribute(text: string): boolean {
  const equals = text.indexOf('=')
  if (equals < 0) return false
  const value = text.slice(equals + 1).replace(/^[ \n]+/, '')
  return isKeyword(text.slice(0, equals)) && isValue(value)
}

function isKeyword(text: string): boolean {
  const name = text.toUpperCase().trim()
  if (keywords.has(name)) return true
  const [, digits] = /^(?:OID\.)?([0-2](?:\.\d+)+)$/.exec(name) ?? []
  if (digits === undefined) return false
  const [root, second = '0'] = digits.split('.')
  return root === '2' || Number(second) < 40
}

function isValue(value: string): boolean {
  if (value.startsWith('#')) return isDer(/^#((?:[0-9a-fA-F]{2})+) *$/.exec(value)?.[1] ?? '')
  if (value.startsWith('"')) return isQuotedValue(value)
  for (let i = 0; i < value.length; i++) {
    const char = value[i]!
    if (char === '\\') {
      const length = escapeLength(value, i)
      if (length === 0) return false
      i += length - 1
    } else if (mustBeEscaped.includes(char)) return false
  }
  return true
}

/** After the closing quote only blanks are allowed. */
function isQuotedValue(value: string): boolean {
  for (let i = 1; i < value.length; i++) {
    if (value[i] === '"') return /^[ \n]*$/.test(value.slice(i + 1))
    if (value[i] !== '\\') continue
    const length = escapeLength(value, i)
    if (length === 0) return false
    i += length - 1
  }
  return false
}

/** The number of characters in the escape that begins here; 0 if none begins. */
function escapeLength(value: string, at: number): number {
  if (/^[0-9a-fA-F]{2}$/.test(value.slice(at + 1, at + 3))) return 3
  const next = value[at + 1]
  return next !== undefined && mayBeEscaped.includes(next) ? 2 : 0
}

/** Whether the hexadecimal digits encode tag, length and content of one DER value. */
function isDer(hex: string): boolean {
  const byte = (i: number): number => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  const bytes = hex.length / 2
  if (bytes < 2) return false
  const first = byte(1)
  if (first < 0x80) return bytes === 2 + first
  const lengthBytes = first & 0x7f
  if (lengthBytes === 0 || lengthBytes > 4 || bytes < 2 + lengthBytes) return false
  let length = 0
  for (let i = 0; i < lengthBytes; i++) length = length * 256 + byte(2 + i)
  return bytes === 2 + lengthBytes + length
}
