/** Detects the form of data: text, JSON, YAML, packed data, or bytes. */
import { jsonOf, textOf } from './format.ts'
import { jsonErrorAt } from './json-error.ts'

export type Form = 'text' | 'json' | 'yaml' | 'hex'
export type Packing = 'gzip' | 'deflate'
export const packingNames = { gzip: 'gzip', deflate: 'zlib' } as const

export interface Forms {
  readonly text: string | undefined
  /** Laid out. */
  readonly json: string | undefined
  /** As it is written. */
  readonly yaml: string | undefined
}

/** The forms of a value; of the first part of one, it may end within a character. */
export function formsOf(bytes: Uint8Array, isWhole: boolean): Forms {
  const text = isWhole ? textOf(bytes) : textStart(bytes)
  const json = isWhole && text !== undefined ? jsonOf(text) : undefined
  const yaml = text !== undefined && json === undefined && looksLikeYaml(text) ? text : undefined
  return { text, json, yaml }
}

export function bestForm({ text, json, yaml }: Forms): Form {
  if (json !== undefined) return 'json'
  if (yaml !== undefined) return 'yaml'
  return text === undefined ? 'hex' : 'text'
}

function textStart(bytes: Uint8Array): string | undefined {
  for (let cut = 0; cut < 4; cut++) {
    const text = textOf(bytes.subarray(0, bytes.length - cut))
    if (text !== undefined) return text
  }
  return undefined
}

/** Most lines are keys, items or comments, and one of them is a key with something below or beside it. */
export function looksLikeYaml(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const keys = lines.filter((line) => /^\s*(- +)*["']?[\w./-][\w ./-]*["']?:(\s|$)/.test(line))
  const others = lines.filter((line) => /^\s*(- |-$|#|---|\.\.\.)/.test(line))
  if (keys.length === 0 || lines.length < 2) return false
  // Of the lines that are neither, most belong to texts of several lines, which are indented.
  const indented = lines.filter((line) => /^\s+\S/.test(line) && !keys.includes(line))
  return new Set([...keys, ...others, ...indented]).size >= lines.length * 0.9
}

/** A sentence that says why a text is not valid in its format. */
export function problemOf(text: string, form: Form): string | undefined {
  if (form === 'yaml') {
    const at = text.split('\n').findIndex((line) => /^ *\t/.test(line))
    return at < 0 ? undefined : `YAML does not allow tabs before a line: line ${at + 1}.`
  }
  if (form !== 'json') return undefined
  if (text.trim() === '') return 'It was JSON, and is empty now.'
  const at = jsonErrorAt(text)
  if (at === undefined) return undefined
  return `It is not JSON any more, in line ${text.slice(0, at).split('\n').length}.`
}

export function packingOf(bytes: Uint8Array): Packing | undefined {
  const [first = 0, second = 0] = bytes
  if (bytes.length > 17 && first === 0x1f && second === 0x8b) return 'gzip'
  const isZlib = bytes.length > 8 && first === 0x78 && (first * 256 + second) % 31 === 0
  return isZlib && textOf(bytes) === undefined ? 'deflate' : undefined
}

/** Limit for unpacked data: a small value can unpack to gigabytes. */
export const unpackedBytesMax = 8 * 1024 * 1024

export interface Unpacked {
  readonly bytes: Uint8Array
  /** False if the limit cut it. */
  readonly isWhole: boolean
}

/** Undefined if the data is not valid in this packing. */
export async function unpack(bytes: Uint8Array, packing: Packing): Promise<Unpacked | undefined> {
  const reader = streamOf(bytes).pipeThrough(new DecompressionStream(packing)).getReader()
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return { bytes: joined(parts, length), isWhole: true }
      parts.push(value)
      length += value.length
      if (length > unpackedBytesMax) {
        await reader.cancel()
        return { bytes: joined(parts, length).subarray(0, unpackedBytesMax), isWhole: false }
      }
    }
  } catch {
    return undefined
  }
}

export async function pack(bytes: Uint8Array, packing: Packing): Promise<Uint8Array> {
  const packed = streamOf(bytes).pipeThrough(new CompressionStream(packing))
  return new Uint8Array(await new Response(packed).arrayBuffer())
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([bytes as Uint8Array<ArrayBuffer>]).stream()
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

export interface Token {
  readonly text: string
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'comment' | ''
}

/** Longer texts are shown in one color. */
const coloredMax = 100_000

/** The parts of a text for their colors; all of them together are the text. */
export function tokensOf(text: string, form: Form): readonly Token[] {
  if (text.length > coloredMax || (form !== 'json' && form !== 'yaml')) return [{ text, kind: '' }]
  return form === 'json' ? jsonTokens(text) : yamlTokens(text)
}

function jsonTokens(text: string): Token[] {
  const tokens: Token[] = []
  const parts = text.matchAll(
    /("(?:[^"\\]|\\.)*")(?=(\s*:)?)|(-?\d[\d.eE+-]*)|(true|false|null)|[^"\d\-tfn]+|./gs,
  )
  for (const [part, string, colon, number, word] of parts) {
    const kind =
      string !== undefined
        ? colon === undefined
          ? 'string'
          : 'key'
        : number !== undefined
          ? 'number'
          : word === undefined
            ? ''
            : 'word'
    tokens.push({ text: part, kind })
  }
  return tokens
}

function yamlTokens(text: string): Token[] {
  const tokens: Token[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (at > 0) tokens.push({ text: '\n', kind: '' })
    const [, lead = '', key = '', rest = ''] =
      /^(\s*(?:- +)*)((?:"[^"]*"|'[^']*'|[\w./-][\w ./-]*)(?=:(?:\s|$)))?(.*)$/.exec(line) ?? []
    if (lead !== '') tokens.push({ text: lead, kind: '' })
    if (key !== '') tokens.push({ text: key, kind: 'key' })
    const comment = /(^|\s)#.*$/.exec(rest)
    const value = comment === null ? rest : rest.slice(0, comment.index)
    const isQuoted = /^:?\s*["'].*["']\s*$/.test(value)
    const isNumber = /^:?\s*-?\d[\d._]*\s*$/.test(value)
    const isWord = /^:?\s*(true|false|null|yes|no|~)\s*$/.test(value)
    const kind = isQuoted ? 'string' : isNumber ? 'number' : isWord ? 'word' : ''
    if (value !== '') tokens.push({ text: value, kind })
    if (comment !== null) tokens.push({ text: rest.slice(comment.index), kind: 'comment' })
  }
  return tokens
}
