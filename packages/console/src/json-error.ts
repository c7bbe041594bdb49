/** Where a text stops being JSON: what engines say of it differs, and often has no position. */

const blanks = /[ \t\r\n]*/y
const token =
  // oxlint-disable-next-line no-control-regex -- a string of JSON must not hold them
  /[ \t\r\n]*(?:("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/y

type Expected = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd'

/** Undefined for JSON. */
export function jsonErrorAt(text: string): number | undefined {
  const open: string[] = []
  let expected: Expected = 'value'
  token.lastIndex = 0
  for (;;) {
    blanks.lastIndex = token.lastIndex
    blanks.test(text)
    const start = blanks.lastIndex
    if (start === text.length) {
      return expected === 'commaOrEnd' && open.length === 0 ? undefined : start
    }
    const found = token.exec(text)
    if (found === null) return start
    const [, string, other, mark] = found
    const next = after(expected, string !== undefined, other !== undefined, mark, open)
    if (next === undefined) return start
    expected = next
  }
}

/** What may follow; undefined if this may not stand here. */
function after(
  expected: Expected,
  isString: boolean,
  isOther: boolean,
  mark: string | undefined,
  open: string[],
): Expected | undefined {
  const inside = open.at(-1)
  if (mark === '}' || mark === ']') {
    const isEnd =
      expected === 'commaOrEnd' || expected === (mark === '}' ? 'keyOrEnd' : 'valueOrEnd')
    if (!isEnd || inside !== (mark === '}' ? '{' : '[')) return undefined
    open.pop()
    return 'commaOrEnd'
  }
  if (mark === ',') {
    if (expected !== 'commaOrEnd' || inside === undefined) return undefined
    return inside === '{' ? 'key' : 'value'
  }
  if (mark === ':') return expected === 'colon' ? 'value' : undefined
  if (expected === 'key' || expected === 'keyOrEnd') return isString ? 'colon' : undefined
  if (expected !== 'value' && expected !== 'valueOrEnd') return undefined
  if (mark !== undefined) {
    open.push(mark)
    return mark === '{' ? 'keyOrEnd' : 'valueOrEnd'
  }
  return isString || isOther ? 'commaOrEnd' : undefined
}
