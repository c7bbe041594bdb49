/** Converts the text of a key to a value. */
export interface ValueType<T> {
  /** In the documentation: `whole number`, `true/false`. */
  readonly label: string
  /** In messages: expected *this*, got "…". */
  readonly expected: string
  /** Undefined if the text is malformed. */
  parse(text: string, notation: Notation): T | undefined
  /** How the documentation writes a value. */
  format(value: T): string
  /**
   * The value that Apache ZooKeeper uses for malformed text instead of refusing it; else the
   * default.
   */
  readonly otherwise?: T
}

/**
 * Java reads the numbers of zoo.cfg's own keys as plain decimals, but those of system properties
 * with prefixes: `0x`, `#` and a leading `0` for octal. `jute.maxbuffer=0x9fffff` is common.
 */
export type Notation = 'decimal' | 'prefixed'

export const int: ValueType<number> = {
  label: 'whole number',
  expected: 'a whole number',
  parse: (text, notation) => within(wholeNumber(text, notation), 2 ** 31),
  format: String,
}

/** A Java `long`; values beyond 2^53 may be rounded. */
export const long: ValueType<number> = {
  ...int,
  parse: (text, notation) => within(wholeNumber(text, notation), 2 ** 63),
}

export const ms: ValueType<number> = { ...long, label: 'ms' }

export const ticks: ValueType<number> = { ...int, label: 'ticks' }

export const port: ValueType<number> = { ...int, label: 'port' }

/** Written in KiB, stored in bytes. */
export const kib: ValueType<number> = {
  label: 'KiB',
  expected: 'a whole number of KiB',
  parse: (text, notation) => {
    const value = wholeNumber(text, notation)
    return value === undefined ? undefined : value * 1024
  },
  format: (bytes) => String(bytes / 1024),
}

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Written in hours, or with a unit as ZooKeeper 3.10 allows; stored in milliseconds. */
export const hours: ValueType<number> = {
  label: 'hours, or with a unit: 90m, 12h, 1d',
  expected: 'a number of hours, or a number and one of ms, s, m, h, d',
  parse: (text) => {
    const [, digits, unit = 'h'] = /^([+-]?\d+)\s*(ms|s|m|h|d)?$/.exec(text) ?? []
    return digits === undefined ? undefined : Number(digits) * unitsMs[unit]!
  },
  format: (value) => String(value / 3_600_000),
}

/** Written in days, or with a unit; stored in milliseconds. */
export const days: ValueType<number> = {
  label: 'days, or with a unit: 12h, 30d',
  expected: 'a number of days, or a number and one of ms, s, m, h, d',
  parse: (text) => {
    const [, digits, unit = 'd'] = /^(\d+)\s*(ms|s|m|h|d)?$/.exec(text) ?? []
    return digits === undefined ? undefined : Number(digits) * unitsMs[unit]!
  },
  format: (value) => String(value / 86_400_000),
}

export const ratio: ValueType<number> = {
  label: 'number',
  expected: 'a number',
  parse: (text) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined),
  format: String,
}

/** Malformed text leaves the default in force. */
export const boolOrDefault: ValueType<boolean> = {
  label: 'true/false',
  expected: 'true or false',
  parse: (text) => ({ true: true, false: false })[text.toLowerCase()],
  format: String,
}

export const bool: ValueType<boolean> = { ...boolOrDefault, otherwise: false }

export const yesNo: ValueType<boolean> = {
  label: 'yes/no',
  expected: 'yes or no',
  parse: (text) => ({ yes: true, no: false })[text],
  format: (value) => (value ? 'yes' : 'no'),
}

export const text: ValueType<string> = {
  label: 'text',
  expected: 'text',
  parse: (value) => value,
  format: String,
}

export const path: ValueType<string> = { ...text, label: 'path' }

export const address: ValueType<string> = {
  ...text,
  label: 'address',
  expected: 'a host name or an address without a port',
  parse: (value) => {
    const bare = value.replace(/^\[(.*)\]$/, '$1')
    return /^[A-Za-z0-9._:%-]+$/.test(bare) ? bare : undefined
  },
}

/** Comma-separated; spaces around the items are ignored. */
export const list: ValueType<readonly string[]> = {
  label: 'list',
  expected: 'a list separated by commas',
  parse: (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  format: (items) => items.join(', '),
}

/** One of a few words; `aliases` are other spellings of them. */
export function choice<const Word extends string>(
  words: readonly Word[],
  aliases: Readonly<Record<string, Word>> = {},
): ValueType<Word> {
  const named = words.map((word) => (word === '' ? 'nothing' : word))
  return {
    label: named.join(', '),
    expected: `one of ${named.join(', ')}`,
    parse: (value) => aliases[value] ?? words.find((word) => word === value),
    format: String,
  }
}

/** The same in any capitalization. */
export function caseless<T>(type: ValueType<T>): ValueType<T> {
  return { ...type, parse: (value, notation) => type.parse(value.toLowerCase(), notation) }
}

function wholeNumber(value: string, notation: Notation): number | undefined {
  if (notation === 'prefixed') {
    const [, sign, hex, octal] = /^([+-]?)(?:(?:0x|#)([0-9a-f]+)|0([0-7]+))$/i.exec(value) ?? []
    const digits = hex ?? octal
    if (digits !== undefined) {
      return Number.parseInt(digits, hex === undefined ? 8 : 16) * (sign === '-' ? -1 : 1)
    }
  }
  return /^[+-]?\d+$/.test(value) ? Number(value) : undefined
}

function within(value: number | undefined, bound: number): number | undefined {
  return value !== undefined && value >= -bound && value < bound ? value : undefined
}
