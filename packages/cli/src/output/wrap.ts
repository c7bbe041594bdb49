import { widthOf } from './style.ts'

/** Breaks a line at blanks, so that each part fits into so many columns; a longer word stays whole. */
export function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (current !== '' && widthOf(longer) > columns) {
      lines.push(current)
      current = word
    } else current = longer
  }
  return [...lines, current]
}

/** Fills the lines of each paragraph anew; paragraphs with indented lines stay as they are. */
export function fill(text: string, columns: number): string {
  return text
    .split('\n\n')
    .map((part) =>
      /^\s/m.test(part) ? part : wrapLine(part.replaceAll('\n', ' '), columns).join('\n'),
    )
    .join('\n\n')
}
