import { widthOf, type Style } from './style.ts'

/** Numbers, and numbers with a unit such as `1.5 MiB`, are aligned right. */
export type Cell = string | number | bigint | undefined

export interface TableOptions {
  /** Without a head. */
  readonly isBare?: boolean
}

/** For a table: milliseconds with one decimal. The head of the column names the unit. */
export function roundMs(ms: number | null | undefined): number | undefined {
  return ms == null ? undefined : Math.round(ms * 10) / 10
}

/** Columns two blanks apart, without lines: for people, awk and sort alike. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: Style,
  { isBare = false }: TableOptions = {},
): string {
  const texts = rows.map((row) => row.map((cell) => (cell === undefined ? '-' : String(cell))))
  const shown = isBare ? texts : [[...head], ...texts]
  const columns = Array.from({ length: Math.max(head.length, ...rows.map((row) => row.length)) })
  const widths = columns.map((_, column) =>
    Math.max(...shown.map((row) => widthOf(row[column] ?? '')), 0),
  )
  const isRight = columns.map(
    (_, column) => rows.length > 0 && rows.every((row) => isNumber(row[column])),
  )
  const lines = shown.map((row, index) => {
    const cells = row.map((text, column) => pad(text, widths[column]!, isRight[column]!))
    const line = cells.join('  ').trimEnd()
    return !isBare && index === 0 ? style.bold(line) : line
  })
  return lines.map((line) => `${line}\n`).join('')
}

function isNumber(cell: Cell): boolean {
  if (typeof cell === 'string') return quantity.test(cell)
  return typeof cell === 'number' || typeof cell === 'bigint' || cell === undefined
}

/** `1.5 MiB`, `12 min`. */
const quantity = /^\d+(?:\.\d+)? (?:B|[KMGT]iB|ms|s|min|h|d)$/

function pad(text: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)))
  return isRight ? blanks + text : text + blanks
}
