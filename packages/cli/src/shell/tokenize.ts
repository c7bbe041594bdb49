/**
 * Splits a line as zkCli.sh does: at blanks, except between single or double quotes. A quote of the
 * other kind between quotes is a character as any other; there are no escapes.
 */
export function tokenize(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (const character of line) {
    if (quote !== '') {
      if (character === quote) quote = ''
      else word += character
    } else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? '') + character
    }
  }
  if (word !== undefined) words.push(word)
  return words
}

/** A word as a line must have it for `tokenize` to give it back. */
export function quoted(word: string): string {
  if (word !== '' && !/[\s"']/.test(word)) return word
  return word.includes('"') ? `'${word}'` : `"${word}"`
}

/** The word that the cursor is in: where it begins in the line, and what it is. */
export function lastWord(line: string): { readonly start: number; readonly word: string } {
  let start = line.length
  let quote = ''
  let isInWord = false
  let word = ''
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (!isInWord && quote === '' && !/\s/.test(character)) {
      isInWord = true
      start = i
      word = ''
    }
    if (quote !== '') {
      if (character === quote) quote = ''
      else word += character
    } else if (character === '"' || character === "'") quote = character
    else if (/\s/.test(character)) isInWord = false
    else word += character
  }
  return isInWord || quote !== '' ? { start, word } : { start: line.length, word: '' }
}
