import { expect, test } from 'vitest'
import {
  bestForm,
  formsOf,
  looksLikeYaml,
  pack,
  packingOf,
  problemOf,
  tokensOf,
  unpack,
  unpackedBytesMax,
} from './content.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('detects text, JSON, YAML and bytes', () => {
  const best = (text: string): string => bestForm(formsOf(bytes(text), true))
  expect(best('{"a": 1}')).toBe('json')
  expect(best('a: 1\nb:\n  - c\n  - d # why\n')).toBe('yaml')
  expect(best('one\ntwo\n')).toBe('text')
  expect(best('key=value\nother=1')).toBe('text')
  expect(bestForm(formsOf(new Uint8Array([0, 200]), true))).toBe('hex')
})

test('prose with a colon is not YAML', () => {
  expect(looksLikeYaml('Note: this\nis a text\nof three lines')).toBe(false)
  expect(looksLikeYaml('text: |\n  of several\n  lines\nother: 1')).toBe(true)
})

test('the first part of a text may end within a character, and is not laid out as JSON', () => {
  const part = bytes('"äö"').subarray(0, 4)
  expect(formsOf(part, false)).toMatchObject({ text: '"ä', json: undefined })
  expect(formsOf(part, true).text).toBeUndefined()
})

test('packed data is unpacked, and packed again', async () => {
  for (const packing of ['gzip', 'deflate'] as const) {
    const packed = await pack(bytes('some text, some text, some text'), packing)
    expect(packingOf(packed)).toBe(packing)
    const unpacked = await unpack(packed, packing)
    expect(new TextDecoder().decode(unpacked!.bytes)).toBe('some text, some text, some text')
    expect(unpacked!.isWhole).toBe(true)
    expect(await unpack(packed.subarray(0, packed.length - 3), packing)).toBeUndefined()
  }
  expect(packingOf(bytes('x^ is text, too'))).toBeUndefined()
})

test('unpacked data beyond the limit is cut and marked', async () => {
  const packed = await pack(new Uint8Array(unpackedBytesMax + 1), 'gzip')
  const unpacked = await unpack(packed, 'gzip')
  expect(unpacked!.isWhole).toBe(false)
  expect(unpacked!.bytes).toHaveLength(unpackedBytesMax)
})

test('tokens together are the text', () => {
  const json = '{\n  "a\\"b": [1, -2.5e3, "x: y", true, null],\n  "c": "-"\n}'
  const yaml = '# head\na: 1\n"b c": "x" # why\n- d: true\n  text with: colon\n\n...'
  for (const [text, form] of [
    [json, 'json'],
    [yaml, 'yaml'],
    [json, 'text'],
  ] as const) {
    expect(
      tokensOf(text, form)
        .map((token) => token.text)
        .join(''),
    ).toBe(text)
  }
  const kindsOf = (kind: string, form: 'json' | 'yaml', text: string): string[] =>
    tokensOf(text, form)
      .filter((token) => token.kind === kind)
      .map((token) => token.text.trim())
  expect(kindsOf('key', 'json', json)).toEqual(['"a\\"b"', '"c"'])
  expect(kindsOf('string', 'json', json)).toEqual(['"x: y"', '"-"'])
  expect(kindsOf('number', 'json', json)).toEqual(['1', '-2.5e3'])
  expect(kindsOf('key', 'yaml', yaml)).toEqual(['a', '"b c"', 'd', 'text with'])
  expect(kindsOf('comment', 'yaml', yaml)).toEqual(['# head', '# why'])
})

test.each([
  ['{"a":1}', 'json', undefined],
  ['{"a":1,\n"b":}', 'json', 'It is not JSON any more, in line 2.'],
  ['{"a":1,\n"b":[1,\n\n2,]}', 'json', 'It is not JSON any more, in line 4.'],
  ['{"a":1\n', 'json', 'It is not JSON any more, in line 2.'],
  ['', 'json', 'It was JSON, and is empty now.'],
  ['a:\n  b: 1\n', 'yaml', undefined],
  ['a:\n\tb: 1\n', 'yaml', 'YAML does not allow tabs before a line: line 2.'],
  ['{', 'text', undefined],
] as const)('%j as %s has the problem %s', (text, form, problem) => {
  expect(problemOf(text, form)).toBe(problem)
})
