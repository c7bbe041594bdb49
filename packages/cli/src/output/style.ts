/** Wraps text in the escape sequences of a terminal, or leaves it as it is. */
export interface Style {
  readonly isOn: boolean
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly blue: (text: string) => string
  readonly magenta: (text: string) => string
  readonly cyan: (text: string) => string
}

const escape = '\u001b['

function wrap(on: number, off: number) {
  return (text: string): string => (text === '' ? '' : `${escape}${on}m${text}${escape}${off}m`)
}

const same = (text: string): string => text

export const plainStyle: Style = {
  isOn: false,
  bold: same,
  dim: same,
  red: same,
  green: same,
  yellow: same,
  blue: same,
  magenta: same,
  cyan: same,
}

const colorStyle: Style = {
  isOn: true,
  bold: wrap(1, 22),
  dim: wrap(2, 22),
  red: wrap(31, 39),
  green: wrap(32, 39),
  yellow: wrap(33, 39),
  blue: wrap(34, 39),
  magenta: wrap(35, 39),
  cyan: wrap(36, 39),
}

/** Color only on a terminal, unless `--color`, NO_COLOR or FORCE_COLOR say otherwise. */
export function chooseStyle(
  isTerminal: boolean,
  when: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Style {
  if (when === 'always') return colorStyle
  if (when === 'never') return plainStyle
  const force = env['FORCE_COLOR']
  if (force !== undefined && force !== '' && force !== '0') return colorStyle
  const isWanted = isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  return isWanted ? colorStyle : plainStyle
}

/** Matches the escape sequences of styles; the source of a regular expression. */
export const sequence = `${escape.replace('[', String.raw`\[`)}[0-9;]*m`

const sequences = new RegExp(sequence, 'g')

/** Columns that a text takes on a terminal: no escape sequences, wide characters count twice. */
export function widthOf(text: string): number {
  const plain = text.includes(escape) ? text.replaceAll(sequences, '') : text
  if (isAscii(plain)) return plain.length
  let width = 0
  for (const character of plain) {
    const code = character.codePointAt(0)!
    width += isCombining(code) ? 0 : isWide(code) ? 2 : 1
  }
  return width
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return false
  return true
}

function isCombining(code: number): boolean {
  return (code >= 0x300 && code <= 0x36f) || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)
}

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff)
  )
}
