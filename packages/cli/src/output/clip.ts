import { sequence, widthOf } from './style.ts'

const pieces = new RegExp(`${sequence}|.`, 'gsu')

/** The part of a line that fits into so many columns. Colors that it switches on are switched off. */
export function clip(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line
  let width = 0
  let result = ''
  for (const [piece] of line.matchAll(pieces)) {
    if (piece.startsWith('\u001b')) {
      result += piece
      continue
    }
    width += widthOf(piece)
    if (width > columns) continue
    result += piece
  }
  return result
}
